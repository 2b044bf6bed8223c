/** The option `egress` of accounts, of `load()` and of `edgehost.toml`. */
import type { EgressHost, EgressRules, EgressSecret } from '../bindings/egress/rules/egress-rules.js';
import { BINDING_NAME } from '../quotas/binding-name.js';
import {
  choice,
  type FieldsOf,
  flag,
  list,
  objectOf,
  record,
  refined,
  type Schema,
  secret,
  text,
  union,
  wholeNumber,
} from '../quotas/schema/schema.js';
import { whyNotHost, whyNotPath } from './egress-hosts.js';

const SECRET_PLACES = ['header', 'url'] as const;
const MAX_HOSTS = 1000;
const MAX_ENTRY = 300;
/** Longer values are no credentials, and a request may hold many placeholders. */
const MAX_VALUE = 8192;

const HOST: Schema<string> = refined(
  text({
    minLength: 1,
    maxLength: MAX_ENTRY,
    description: 'a host such as api.example.com, *.example.com or 10.1.2.3:5432',
  }),
  whyNotHost,
);

const SECRET_HOST: Schema<string> = refined(HOST, entry =>
  /^\*(?!\.)/.test(entry) ? 'a secret belongs to hosts that are named' : whyNotHost(entry),
);

const PATH: Schema<string> = refined(
  text({ pattern: '^/', maxLength: 2048, description: 'a path such as /v1/users or /v1/*' }),
  whyNotPath,
);

const METHOD: Schema<string> = text({
  pattern: '^[A-Za-z]{1,40}$',
  description: "a method of HTTP such as 'GET'",
});

const EGRESS_HOST: Schema<EgressHost> = objectOf<EgressHost>({
  host: HOST,
  'ports?': list(wholeNumber(1, 65_535), { minItems: 1, maxItems: 1000 }),
  'paths?': list(PATH, { minItems: 1, maxItems: 1000 }),
  'methods?': list(METHOD, { minItems: 1, maxItems: 100 }),
});

/** Also in `edgehost.toml`, whose secrets are the application's to give. */
export const EGRESS_HOSTS: Schema<EgressRules['hosts']> = list(
  union([HOST, EGRESS_HOST], { description: 'a host, or { host, ports, paths, methods }' }),
  { maxItems: MAX_HOSTS },
);

const SECRET_FIELDS: FieldsOf<EgressSecret> = {
  hosts: list(SECRET_HOST, { minItems: 1, maxItems: 100 }),
  value: secret(
    text({
      pattern: '^[!-~](?:[ -~]*[!-~])?$',
      maxLength: MAX_VALUE,
      description: `1 to ${MAX_VALUE} printable ASCII characters, without a space at either end`,
    }),
  ),
  'in?': list(choice(SECRET_PLACES), { minItems: 1 }),
  'allowHttp?': flag(),
};

/** A text in the place of the object is the value, so that messages quote neither. */
const EGRESS_SECRET: Schema<EgressSecret> = secret(
  objectOf<EgressSecret>(SECRET_FIELDS, { description: 'an object { hosts, value }' }),
);

export const EGRESS_RULES: Schema<EgressRules> = objectOf<EgressRules>({
  hosts: EGRESS_HOSTS,
  'secrets?': secret(record(EGRESS_SECRET, BINDING_NAME)),
});
