import test from 'ava';
import { peopleLines } from '../../src/cli/serving/lines.js';

test('peopleLines() lets no control character of a function or a client reach a terminal', t => {
  const options = { paint: (_: string, text: string) => text, now: () => new Date(), hasAccounts: true };
  const named = { account: 'a', function: 'f' };
  const hostile = '\u001b]0;title\u0007\u001b[2Jone\r\u2028\n\t\u009b31mtwo\n\v\u202ethree';
  const shown = [
    peopleLines({ type: 'log', ...named, invocation: 'i', level: 'log', message: hostile, time: 0 }, options),
    peopleLines({ type: 'refused', method: 'GET', path: hostile, status: 404, message: hostile }, options),
    peopleLines({ type: 'warning', code: undefined, message: hostile }, options),
    peopleLines(
      { type: 'error', function: 'f', code: undefined, message: hostile, location: undefined, isServing: true },
      options,
    ),
  ].join('');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  t.notRegex(shown, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e]/);
  t.regex(shown, /one\n {2}\t31mtwo\n {2}three\n/);
});
