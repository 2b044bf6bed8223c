/** Declarations of tools in TypeScript, for the prompt of a language model: from JSON Schema, within bounds, since schemas may come from elsewhere. */

import type { EgressSecret } from '../../../bindings/egress/rules/egress-rules.js';
import { keysOf } from '../../../quotas/schema/complaint.js';
import { isObject } from '../../../quotas/schema/describe.js';
import type { CompiledTool } from './compile-tools.js';
import { jsonSchemaOf } from './json-schema-of.js';

/** Parts of the types of one tool. All after that is `unknown`. */
const MAX_PARTS = 500;
const MAX_DEPTH = 12;
const MAX_COMMENT = 500;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** A namespace while it is written: tools, and namespaces in it. */
type Members = Map<string, CompiledTool | Members>;

export function declarationsOf(tools: readonly CompiledTool[]): string {
  const root: Members = new Map();
  for (const tool of tools) {
    const parts = tool.name.split('.');
    const last = parts.pop() ?? '';
    let members = root;
    for (const part of parts) {
      const known = members.get(part);
      const inner: Members = known instanceof Map ? known : new Map();
      members.set(part, inner);
      members = inner;
    }
    members.set(last, tool);
  }
  return `declare const tools: ${membersText(root, '')};\n`;
}

/** The placeholders of secrets in `env`; empty without any. */
export function envDeclaration(secrets: Readonly<Record<string, EgressSecret>>): string {
  const members = Object.entries(secrets).map(([name, { hosts, in: places = ['header'] }]) => {
    const comment = commentText(
      `Stands for a secret in the ${places.join(' or ')} of requests to ${hosts.join(', ')}`,
      '  ',
    );
    return `${comment}  readonly ${name}: string;\n`;
  });
  return members.length === 0 ? '' : `declare const env: {\n${members.join('')}};\n`;
}

function membersText(members: Members, indent: string): string {
  if (members.size === 0) return '{}';
  const inner = `${indent}  `;
  const lines = [...members].map(([name, member]) =>
    member instanceof Map
      ? `${inner}readonly ${name}: ${membersText(member, inner)};`
      : `${commentText(member.description, inner)}${inner}${name}${signature(member, inner)};`,
  );
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function signature({ input, output }: CompiledTool, indent: string): string {
  const answer = output === undefined ? 'unknown' : typeText(jsonSchemaOf(output, 'output'), indent);
  if (input === undefined) return `(input?: unknown): Promise<${answer}>`;
  return `(input: ${typeText(jsonSchemaOf(input, 'input'), indent)}): Promise<${answer}>`;
}

function typeText(schema: unknown, indent: string): string {
  return new TypeWriter(schema).type(schema, indent, 0);
}

class TypeWriter {
  readonly #root: unknown;
  readonly #open = new Set<unknown>();
  #parts = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  type(schema: unknown, indent: string, depth: number): string {
    if (schema === false) return 'never';
    if (!isObject(schema) || ++this.#parts > MAX_PARTS || depth > MAX_DEPTH || this.#open.has(schema)) return 'unknown';
    // A type that contains itself has a name in a schema, and none here.
    this.#open.add(schema);
    const text = this.#typeOf(schema, indent, depth + 1);
    this.#open.delete(schema);
    return text;
  }

  #typeOf(schema: Record<string, unknown>, indent: string, depth: number): string {
    const { $ref, enum: values, const: value, type } = schema;
    if (typeof $ref === 'string') return this.type(this.#referred($ref), indent, depth);
    if (value !== undefined) return literal(value);
    if (Array.isArray(values)) return union(values.map(literal));
    const branches = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(branches)) return union(branches.map(branch => this.type(branch, indent, depth)));
    if (Array.isArray(schema.allOf)) {
      const parts = schema.allOf.map(part => bracketed(this.type(part, indent, depth)));
      return [...new Set(parts)].filter(part => part !== 'unknown').join(' & ') || 'unknown';
    }
    if (Array.isArray(type)) return union(type.map(each => this.#typeOf({ ...schema, type: each }, indent, depth)));
    switch (type) {
      case 'string':
      case 'boolean':
      case 'null':
        return type;
      case 'number':
      case 'integer':
        return 'number';
      case 'array':
        return this.#array(schema, indent, depth);
      case 'object':
        return this.#object(schema, indent, depth);
      default:
        return isObject(schema.properties) ? this.#object(schema, indent, depth) : 'unknown';
    }
  }

  #array({ items, prefixItems }: Record<string, unknown>, indent: string, depth: number): string {
    if (!Array.isArray(prefixItems)) return `${bracketed(this.type(items, indent, depth))}[]`;
    const first = prefixItems.map(item => this.type(item, indent, depth));
    const rest = items === undefined || items === false ? [] : [`...${bracketed(this.type(items, indent, depth))}[]`];
    return `[${[...first, ...rest].join(', ')}]`;
  }

  #object(schema: Record<string, unknown>, indent: string, depth: number): string {
    const { properties, additionalProperties } = schema;
    const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
    const inner = `${indent}  `;
    const fields = Object.entries(isObject(properties) ? properties : {}).map(([name, field]) => {
      const key = IDENTIFIER.test(name) ? name : JSON.stringify(name);
      const comment = commentText(isObject(field) ? field.description : undefined, inner);
      return `${comment}${inner}${key}${required.includes(name) ? '' : '?'}: ${this.type(field, inner, depth)};`;
    });
    if (fields.length === 0) {
      return isObject(additionalProperties)
        ? `Record<string, ${this.type(additionalProperties, indent, depth)}>`
        : additionalProperties === false
          ? '{}'
          : 'Record<string, unknown>';
    }
    if (isObject(additionalProperties)) fields.push(`${inner}[name: string]: unknown;`);
    return `{\n${fields.join('\n')}\n${indent}}`;
  }

  /** `#/$defs/name`: a place in the same schema. */
  #referred(ref: string): unknown {
    if (!ref.startsWith('#')) return undefined;
    let found = this.#root;
    for (const name of keysOf(ref)) found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    return found;
  }
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ') || 'never';
}

function bracketed(type: string): string {
  return /[|&]/.test(type) ? `(${type})` : type;
}

function literal(value: unknown): string {
  return isObject(value) || Array.isArray(value) || value === undefined ? 'unknown' : JSON.stringify(value);
}

function commentText(description: unknown, indent: string): string {
  if (typeof description !== 'string') return '';
  const text = description.replace(/\s+/g, ' ').replaceAll('*/', '*\\/').trim();
  if (text === '') return '';
  return `${indent}/** ${text.length > MAX_COMMENT ? `${text.slice(0, MAX_COMMENT)}…` : text} */\n`;
}
