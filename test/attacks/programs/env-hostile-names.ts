import { attack } from '../attack.js';

export default attack({
  tries: 'variables with the names of prototypes',
  rules: ['R15'],
  body: `
keep(env.__proto__); keep(env.constructor); keep(env.then);
attempt(() => env.constructor.constructor('return process')());
for (const key of Reflect.ownKeys(env)) keep(env[key]);
attempt(() => { env.x = 1; });
attempt(() => Object.setPrototypeOf(env, {}));
`,
  vars: JSON.parse(
    '{"nested":{"__proto__":{"x":1},"constructor":{"constructor":1}},"constructor":"c","toString":"t","hasOwnProperty":"h","then":"x","prototype":{}}',
  ),
});
