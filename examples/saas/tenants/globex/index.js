export default {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith('/loop')) {
      for (;;) Math.sqrt(2);
    }
    const cents = Number(searchParams.get('cents') ?? 0);
    return Response.json({ price: `${(cents / 100).toFixed(2)} EUR` });
  },
};
