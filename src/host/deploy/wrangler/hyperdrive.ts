/** The variable of a database that the hosted platform reaches by a pool of connections: its connection string and the parts of it. */

export interface HyperdriveVariable {
  readonly connectionString: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

const PORTS: Readonly<Record<string, number>> = { 'postgres:': 5432, 'postgresql:': 5432, 'mysql:': 3306 };

/** Undefined for a text that is no connection string of PostgreSQL or MySQL. */
export function hyperdriveVariable(connectionString: string): HyperdriveVariable | undefined {
  if (!URL.canParse(connectionString)) return undefined;
  const { protocol, hostname, port, username, password, pathname } = new URL(connectionString);
  const usual = PORTS[protocol];
  if (usual === undefined || hostname === '') return undefined;
  try {
    return {
      connectionString,
      host: hostname,
      port: port === '' ? usual : Number(port),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: decodeURIComponent(pathname.slice(1)),
    };
  } catch {
    // A percent sign that escapes nothing.
    return undefined;
  }
}
