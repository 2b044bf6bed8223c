import { greeting } from './_greeting';

export default {
  fetch(request: Request): Response {
    const name = new URL(request.url).searchParams.get('name') ?? 'world';
    console.log('greeting', name);
    return new Response(`${greeting(name)}\n`);
  },
};
