/**
 * The one table of the codes in `errors[].code` of the management API. A code never changes its meaning. 1004 (DNS Validation Error), 1015 (rate limit) and the
 * status and text of 413 come from the specification, whose full catalog is not shown. The other codes belong to this API: 1xxx the request, 2xxx the route,
 * 3xxx authentication, 4xxx the resource. The codes 5xxx concern functions and their bindings, 8xxx the host, and 9xxx the causes of a DNS validation error.
 */

export const API_CODES = {
  BAD_JSON: { code: 1001, status: 400, text: 'The body is not valid JSON' },
  BODY_INVALID: { code: 1002, status: 400, text: 'The body does not fit its schema' },
  QUERY_INVALID: { code: 1003, status: 400, text: 'A query parameter is not valid' },
  DNS_VALIDATION: { code: 1004, status: 400, text: 'DNS Validation Error' },
  PATH_INVALID: { code: 1005, status: 400, text: 'A path parameter is not valid' },
  BODY_TOO_LARGE: { code: 1006, status: 413, text: 'Request entity too large' },
  MEDIA_TYPE: { code: 1007, status: 415, text: 'The media type of the body is not supported' },
  HEADER_INVALID: { code: 1008, status: 400, text: 'A request header is not valid' },
  FRAMING_DECLINED: { code: 1009, status: 400, text: 'Transfer-Encoding and Content-Length exclude each other' },
  BODY_INCOMPLETE: { code: 1010, status: 400, text: 'The body ended early' },
  UPLOAD_INVALID: { code: 1011, status: 400, text: 'The upload is not valid' },
  RATE_LIMITED: { code: 1015, status: 429, text: 'Too many requests' },

  ROUTE_UNKNOWN: { code: 2001, status: 404, text: 'No such route' },
  METHOD_NOT_ALLOWED: { code: 2002, status: 405, text: 'The route does not answer this method' },
  GONE: { code: 2003, status: 410, text: 'The route has reached its end of life' },
  NOT_MOUNTED: { code: 2004, status: 501, text: 'This host does not serve the route' },
  /** Stands in `messages`, never in `errors`. */
  CHANGE_AHEAD: { code: 2005, status: 200, text: 'The route changes on a date to come' },

  AUTH_MISSING: { code: 3001, status: 401, text: 'Authentication is required' },
  AUTH_INVALID: { code: 3002, status: 401, text: 'The token is not valid' },
  PERMISSION: { code: 3003, status: 403, text: 'The token does not permit this' },

  NOT_FOUND: { code: 4001, status: 404, text: 'Not found' },
  ALREADY_EXISTS: { code: 4002, status: 409, text: 'It exists already' },
  PRECONDITION_FAILED: { code: 4003, status: 412, text: 'The resource has changed' },
  IN_USE: { code: 4004, status: 409, text: 'Something else depends on it' },
  LIMIT_EXCEEDED: { code: 4005, status: 403, text: 'A limit does not allow it' },
  NAME_DENIED: { code: 4006, status: 403, text: 'The account may not have the name' },
  NAME_TAKEN: { code: 4007, status: 409, text: 'The name belongs to another account' },

  SCRIPT_INVALID: { code: 5001, status: 400, text: 'The script cannot be deployed' },
  SCRIPT_TOO_LARGE: { code: 5002, status: 413, text: 'The script is larger than the plan allows' },
  STARTUP_LIMIT: { code: 5003, status: 400, text: 'The global scope took too long' },
  CONFIG_INVALID: { code: 5004, status: 400, text: 'The configuration is not valid' },
  NOT_SUPPORTED: { code: 5005, status: 501, text: 'Not supported' },
  BINDING_REFUSED: { code: 5006, status: 400, text: 'The service behind a binding refuses it' },

  INTERNAL: { code: 8000, status: 500, text: 'Internal error' },
  UNAVAILABLE: { code: 8001, status: 503, text: 'The host cannot do it now' },
  STORAGE_FULL: { code: 8002, status: 507, text: 'The disk is full' },

  DNS_NAME: { code: 9001, status: 400, text: 'The name of the record is not valid' },
  DNS_CONTENT: { code: 9002, status: 400, text: 'The content of the record is not valid' },
  DNS_DATA: { code: 9003, status: 400, text: 'The data of the record is not valid' },
  DNS_FIELD: { code: 9004, status: 400, text: 'The record type does not have the field' },
  DNS_SRV_FIELDS: { code: 9005, status: 400, text: 'data.service, data.proto and data.name of SRV records are gone' },
  DNS_CONFLICT: { code: 9006, status: 400, text: 'The record conflicts with another' },
  DNS_DUPLICATE: { code: 9007, status: 400, text: 'An identical record exists' },
} as const;

export type ApiCode = keyof typeof API_CODES;

/** Whether the code is the root cause of a DNS validation error. */
export function isDnsCause(code: ApiCode): boolean {
  return API_CODES[code].code >= 9000;
}
