// A small SaaS: a site builder whose customers bring plugins. The server is an ordinary node:http server; what is under /plugins/ is
// answered by the customers' own code, each in a process and under the limits of its account.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { EdgeHost } from 'edgehost';

/** Customers, the plans they pay for, and the folders of their plugins. */
export const TENANTS = [
  { id: 'acme', plan: 'standard' },
  { id: 'globex', plan: 'free' },
  { id: 'initech', plan: 'unbound' },
];

/**
 * Starts the application.
 *
 * @param {{ storage: string }} options
 */
export async function startApp({ storage }) {
  const host = new EdgeHost({ storage });
  const plugins = [];
  for (const { id, plan } of TENANTS) {
    const account = host.account(id, { plan });
    plugins.push(await account.loadFile(fileURLToPath(new URL(`tenants/${id}/`, import.meta.url))));
  }

  const servePlugin = host.listener();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/plugins/')) servePlugin(request, response);
    else response.end('The site builder itself.\n');
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));

  return {
    host,
    plugins,
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
      await host.close();
    },
  };
}
