/** Finds callbacks that are given to Node without the guard of src/quotas/guarded.ts, by reading the compiled source. */
import type { Node } from 'acorn';

/** What calls its argument later, with nothing of the host on the stack, and which argument that is. */
const CALLERS: Readonly<Record<string, number>> = {
  setTimeout: 0,
  setInterval: 0,
  setImmediate: 0,
  queueMicrotask: 0,
  nextTick: 0,
  on: 1,
  once: 1,
  addListener: 1,
  prependListener: 1,
  addEventListener: 1,
};
/** Calls that throw for no state of what they are called on. */
const HARMLESS = new Set(['clearTimeout', 'clearInterval', 'destroy', 'delete', 'resume', 'unref', 'exit', 'kill']);

/** What reports an exception, or ends the connection that it concerns. */
const REPORTS = new Set(['reportFault', '#failed', '#onBroken']);

/** A node with the fields that this reads of nodes of its kind, and the node around it. */
interface Syntax extends Node {
  readonly [field: string]: unknown;
}

/** The texts of the calls that give a callback away without the guard, and of the promises whose rejection nobody handles. */
export function unguardedIn(text: string, program: Node): { readonly start: number; readonly text: string }[] {
  const parents = new Map<Syntax, Syntax>();
  const nodes: Syntax[] = [];
  collect(asSyntax(program), parents, nodes);
  const found: { start: number; text: string }[] = [];
  for (const node of nodes) {
    const isFound =
      node.type === 'CallExpression'
        ? givesUnguarded(node, parents, nodes)
        : node.type === 'UnaryExpression' && node.operator === 'void' && !isHandled(child(node, 'argument'));
    if (isFound) found.push({ start: node.start, text: text.slice(node.start, node.end).split('\n')[0] ?? '' });
  }
  return found;
}

function collect(node: Syntax, parents: Map<Syntax, Syntax>, nodes: Syntax[]): void {
  nodes.push(node);
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (!isSyntax(each)) continue;
      parents.set(each, node);
      collect(each, parents, nodes);
    }
  }
}

function isSyntax(value: unknown): value is Syntax {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;
}

function asSyntax(node: unknown): Syntax {
  if (!isSyntax(node)) throw new TypeError('There is no node');
  return node;
}

function child(node: Syntax, field: string): Syntax {
  return asSyntax(node[field]);
}

function children(node: Syntax, field: string): Syntax[] {
  const value = node[field];
  return Array.isArray(value) ? value.filter(isSyntax) : [];
}

/** The name that is called: of a function, or of a method. */
function nameOf(callee: Syntax): string {
  if (callee.type === 'Identifier') return String(callee.name);
  if (callee.type !== 'MemberExpression') return '';
  const property = child(callee, 'property');
  return property.type === 'Identifier' ? String(property.name) : `#${String(property.name)}`;
}

function givesUnguarded(call: Syntax, parents: Map<Syntax, Syntax>, nodes: readonly Syntax[]): boolean {
  const callee = child(call, 'callee');
  const name = nameOf(callee);
  const at = Object.hasOwn(CALLERS, name) ? CALLERS[name] : undefined;
  // on('event', ...) is one of an emitter.
  if (at === undefined || (at === 1 && callee.type !== 'MemberExpression')) return false;
  const argument = children(call, 'arguments')[at];
  return argument !== undefined && !isGuarded(argument, parents, nodes);
}

function isGuarded(argument: Syntax, parents: Map<Syntax, Syntax>, nodes: readonly Syntax[]): boolean {
  switch (argument.type) {
    case 'CallExpression':
      return nameOf(child(argument, 'callee')) === 'guarded';
    case 'ArrowFunctionExpression':
      return isHarmlessBody(child(argument, 'body'), parents);
    case 'Identifier':
      return (
        isSettling(argument, parents) ||
        valuesOf(String(argument.name), nodes).some(value => isGuarded(value, parents, nodes))
      );
    case 'MemberExpression':
      return (
        child(argument, 'object').type === 'ThisExpression' &&
        valuesOf(String(child(argument, 'property').name), nodes).some(value => isGuarded(value, parents, nodes))
      );
    case 'FunctionExpression':
    case 'ConditionalExpression':
    case 'LogicalExpression':
      return false;
    default:
      // A number or an object: not a callback.
      return true;
  }
}

/** What a constant, or a field of a class, of this name is made with anywhere in the file. */
function valuesOf(name: string, nodes: readonly Syntax[]): Syntax[] {
  return nodes.flatMap(node => {
    if (node.type === 'VariableDeclarator' && child(node, 'id').name === name)
      return isSyntax(node.init) ? [node.init] : [];
    if (node.type === 'PropertyDefinition' && child(node, 'key').name === name) {
      return isSyntax(node.value) ? [node.value] : [];
    }
    if (node.type === 'AssignmentExpression' && nameOf(child(node, 'left')).replace('#', '') === name)
      return [child(node, 'right')];
    return [];
  });
}

/** Whether the identifier is a parameter of the executor of a promise around it. */
function isSettling(identifier: Syntax, parents: Map<Syntax, Syntax>): boolean {
  for (let at = parents.get(identifier); at !== undefined; at = parents.get(at)) {
    if (at.type !== 'ArrowFunctionExpression') continue;
    if (!children(at, 'params').some(({ name }) => name === identifier.name)) continue;
    const made = parents.get(at);
    return made?.type === 'NewExpression' && child(made, 'callee').name === 'Promise';
  }
  return false;
}

function isHarmlessBody(body: Syntax, parents: Map<Syntax, Syntax>): boolean {
  if (body.type !== 'BlockStatement') return isHarmless(body, parents);
  const statements = children(body, 'body');
  const [first] = statements;
  if (first?.type === 'TryStatement' && isSyntax(first.handler)) {
    return statements.length === 1 && reports(child(first.handler, 'body'));
  }
  return statements.every(
    each => each.type === 'ExpressionStatement' && isHarmless(child(each, 'expression'), parents),
  );
}

/** The block begins with a report of what was thrown. */
function reports(block: Syntax): boolean {
  const [first] = children(block, 'body');
  if (first?.type !== 'ExpressionStatement') return false;
  const expression = child(first, 'expression');
  return expression.type === 'CallExpression' && REPORTS.has(nameOf(child(expression, 'callee')));
}

function isHarmless(expression: Syntax, parents: Map<Syntax, Syntax>): boolean {
  switch (expression.type) {
    case 'UpdateExpression':
    case 'Identifier':
    case 'Literal':
    case 'MemberExpression':
      return true;
    case 'UnaryExpression':
      return isHarmless(child(expression, 'argument'), parents);
    case 'AssignmentExpression':
      return isHarmless(child(expression, 'right'), parents);
    case 'CallExpression': {
      const callee = child(expression, 'callee');
      if (!children(expression, 'arguments').every(each => isHarmless(each, parents))) return false;
      return HARMLESS.has(nameOf(callee)) || (callee.type === 'Identifier' && isSettling(callee, parents));
    }
    default:
      return false;
  }
}

/** `void` before what is no call, or before a promise whose rejection is handled. */
function isHandled(argument: Syntax): boolean {
  return argument.type !== 'CallExpression' || nameOf(child(argument, 'callee')) === 'catch';
}
