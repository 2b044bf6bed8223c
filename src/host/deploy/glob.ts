/** Globs of the configuration file. Its author may be a customer, so no regular expression is made of them: some would never come to an end. */

/** The text that a step matches: one character, or any number of them. */
type Step =
  | { readonly kind: 'one'; readonly character: string }
  | { readonly kind: 'any' }
  /** Any part of the name of one folder. */
  | { readonly kind: 'within' }
  | { readonly kind: 'across' }
  /** Whole folders, or none: the first step may be left out with the second, which ends with a slash. */
  | { readonly kind: 'folders' }
  | { readonly kind: 'folder' };

/**
 * `*` is anything but a slash, `**` anything at all, `?` one character. Without a slash it is about the file's own name. Matching takes a step for
 * each character of both at most.
 */
export function globMatcher(glob: string): (name: string) => boolean {
  const steps = stepsOf(glob);
  return glob.includes('/')
    ? name => matches(steps, name)
    : name => matches(steps, name.slice(name.lastIndexOf('/') + 1));
}

function stepsOf(glob: string): readonly Step[] {
  return [...glob.matchAll(/\*\*\/|\*\*|./gs)].flatMap(([part]): Step[] => {
    if (part === '**/') return [{ kind: 'folders' }, { kind: 'folder' }];
    if (part === '**') return [{ kind: 'across' }];
    if (part === '*') return [{ kind: 'within' }];
    return [part === '?' ? { kind: 'any' } : { kind: 'one', character: part }];
  });
}

/** All that the steps so far may have matched is followed at once. */
function matches(steps: readonly Step[], name: string): boolean {
  let at = reached(steps, new Set([0]));
  for (let index = 0; index < name.length && at.size > 0; index++) {
    const character = name.charAt(index);
    const next = new Set<number>();
    for (const place of at) {
      const step = steps[place];
      if (step === undefined) continue;
      if (step.kind === 'one' ? step.character === character : step.kind === 'any' && character !== '/')
        next.add(place + 1);
      if (step.kind === 'across' || step.kind === 'folder' || (step.kind === 'within' && character !== '/'))
        next.add(place);
      if (step.kind === 'folder' && character === '/') next.add(place + 1);
    }
    at = reached(steps, next);
  }
  return at.has(steps.length);
}

/** Includes the places that are reached from there without another character. A Set that grows is iterated to its end. */
function reached(steps: readonly Step[], places: Set<number>): Set<number> {
  for (const place of places) {
    const kind = steps[place]?.kind;
    if (kind === 'within' || kind === 'across') places.add(place + 1);
    else if (kind === 'folders') places.add(place + 1).add(place + 2);
  }
  return places;
}
