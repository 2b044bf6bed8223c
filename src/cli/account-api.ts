/** Requests of commands to the management API of a running host, for one account. */
import { messageOf } from '../quotas/errors.js';
import { CommandError, type CommandIo } from './terminal/command.js';

/** The environment variable with the API token. */
export const TOKEN = 'EDGEHOST_TOKEN';

/** @throws CommandError with exit code 2 */
export function accountUrl(text: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text)) {
    throw new CommandError(2, `${JSON.stringify(text)} is not the URL of an account in the management API`);
  }
  return new URL(text);
}

/**
 * @param path below the account, with a slash in front
 * @param query values that are '' are left out
 */
export function urlBelow(account: URL, path: string, query: Readonly<Record<string, string>>): URL {
  const url = new URL(account);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  for (const [name, value] of Object.entries(query)) if (value !== '') url.searchParams.set(name, value);
  return url;
}

/** @throws CommandError with exit code 2 */
export function tokenOf({ env }: CommandIo): string {
  const token = env[TOKEN];
  if (token !== undefined && token !== '') return token;
  throw new CommandError(2, `There is no API token: set the environment variable ${TOKEN}`);
}

/** An answer of status 200 and the like. @throws CommandError with exit code 1 */
export async function ask(url: URL, token: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal, redirect: 'error' });
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : '';
    throw new CommandError(1, `Cannot reach ${url.origin}${cause}`, { cause: error });
  }
  if (response.ok) return response;
  throw new CommandError(
    1,
    `${url.origin} answered with status ${response.status}: ${(await response.text()).slice(0, 1000)}`,
  );
}
