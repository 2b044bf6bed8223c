let visits = 0;

export default {
  fetch(request) {
    if (new URL(request.url).pathname.endsWith('/explode')) {
      // In a plain Node process this ends the process, not only the script.
      const hoard = [];
      for (;;) hoard.push(new Array(2 ** 24).fill(0));
    }
    visits += 1;
    return new Response(`visitor number ${visits}\n`);
  },
};
