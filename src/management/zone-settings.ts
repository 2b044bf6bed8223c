/** The zone settings there are: compression rules, those that the owner of the host declares, and the five whose end the schedule announces. */

import { ROUTE_PATTERN } from '../config-schema/function-shapes.js';
import { ALGORITHMS, type CompressionRule } from '../hostnames/zone-compression.js';
import type { ZonePlan } from '../quotas/limits.js';
import { choice, type JsonSchema, list, objectOf } from '../quotas/schema/schema.js';
import type { DeprecationId } from './deprecations/deprecations.js';
import { compileSchema } from './validator.js';

export interface ZoneSettingDefinition {
  /** The schema of the value; JSON Schema 2020-12. */
  readonly schema: JsonSchema;
  readonly default: unknown;
}

export interface ZoneSetting {
  readonly default: unknown;
  readonly problems: (value: unknown) => string[];
  readonly deprecation: DeprecationId | null;
  /** Zones of this plan alone may change it; null: all may. */
  readonly plan: ZonePlan | null;
}

export type ZoneSettings = ReadonlyMap<string, ZoneSetting>;

export const COMPRESSION_RULES = 'compression_rules';
const MAX_COMPRESSION_RULES = 25;

const PERMANENT: Readonly<Record<string, ZoneSettingDefinition & { readonly plan: ZonePlan }>> = {
  [COMPRESSION_RULES]: {
    plan: 'enterprise',
    default: [],
    schema: list(
      objectOf<CompressionRule>({
        pattern: ROUTE_PATTERN,
        algorithms: list(choice(ALGORITHMS), { uniqueItems: true }),
      }),
      { maxItems: MAX_COMPRESSION_RULES },
    ),
  },
};

const onOff: JsonSchema = { enum: ['on', 'off'] };

const DEPRECATED: Readonly<Record<string, ZoneSettingDefinition & { readonly deprecation: DeprecationId }>> = {
  brotli: { schema: onOff, default: 'on', deprecation: 'setting-brotli' },
  minify: {
    schema: flags({ css: onOff, html: onOff, js: onOff }),
    default: { css: 'off', html: 'off', js: 'off' },
    deprecation: 'setting-minify',
  },
  mobile_redirect: {
    schema: flags({
      status: onOff,
      mobile_subdomain: { type: ['string', 'null'], maxLength: 253 },
      strip_uri: { type: 'boolean' },
    }),
    default: { status: 'off', mobile_subdomain: null, strip_uri: false },
    deprecation: 'setting-mobile-redirect',
  },
  server_side_exclude: { schema: onOff, default: 'on', deprecation: 'setting-server-side-exclude' },
  privacy_pass: { schema: onOff, default: 'on', deprecation: 'setting-privacy-pass' },
};

/** @throws RangeError a name that cannot be part of a path or is taken; Error an invalid schema */
export function resolveZoneSettings(own: Readonly<Record<string, ZoneSettingDefinition>> = {}): ZoneSettings {
  const settings = new Map<string, ZoneSetting>();
  for (const [name, { schema, default: value, deprecation }] of Object.entries(DEPRECATED)) {
    settings.set(name, { default: value, problems: compileSchema(schema), deprecation, plan: null });
  }
  for (const [name, { schema, default: value, plan }] of Object.entries(PERMANENT)) {
    settings.set(name, { default: value, problems: compileSchema(schema), deprecation: null, plan });
  }
  for (const [name, definition] of Object.entries(own)) {
    if (!/^[a-z][a-z0-9_]{0,63}$/.test(name) || settings.has(name)) {
      throw new RangeError(`zoneSettings: ${JSON.stringify(name)} is taken, or not lower-case letters, digits and _`);
    }
    const problems = compileSchema(definition.schema);
    const [problem] = problems(definition.default);
    if (problem !== undefined)
      throw new RangeError(`zoneSettings.${name}.default: ${problem.replace('the body', 'it')}`);
    settings.set(name, { default: definition.default, problems, deprecation: null, plan: null });
  }
  return settings;
}

function flags(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
