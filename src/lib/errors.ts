/**
 * Catalogue of the errors that users see at the API or the command line. Every thrown error that leaves a process is
 * one of these; `docs/reference/errors.md` is generated from this list. Failures of checks are values, not errors: see
 * `src/checks/contract/failure.ts`.
 */

interface ErrorEntry {
  /** HTTP status; 0 for errors that only end a process. */
  readonly statusCode: number;
  /** The HTTP phrase, as the `error` field of the body shows it. */
  readonly phrase: string;
  /** When the error occurs, for readers of docs/reference/errors.md. */
  readonly meaning: string;
  /** How the reader can fix it. */
  readonly fix: string;
  /** True when the same request may succeed later without a change. */
  readonly isRetryable: boolean;
  /** Whether the body carries the name as `code`, which existing clients read. */
  readonly isNamedInBody?: true;
  /** Name of the error for clients of comparable services: the `errorCode` of the body. */
  readonly errorCode?: string;
}

export const errorCatalogue = {
  VALIDATION_FAILED: {
    statusCode: 400,
    phrase: 'Bad Request',
    meaning: 'A field of the body, query or path has an invalid value.',
    fix: 'Correct the fields listed in `validation.keys`. The message says which values each field accepts.',
    isRetryable: false,
  },
  MALFORMED_BODY: {
    statusCode: 400,
    phrase: 'Bad Request',
    meaning: 'The body is missing or is not valid JSON.',
    fix: 'Send one JSON document with `Content-Type: application/json`.',
    isRetryable: false,
  },
  BAD_TOKEN: {
    statusCode: 401,
    phrase: 'Unauthorized',
    meaning: 'The `Authorization` header is missing, malformed, or its key is unknown or revoked.',
    fix: 'Send `Authorization: Bearer <API_KEY>` with an active key.',
    isRetryable: false,
  },
  FOREIGN_ACCOUNT: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning:
      'The API key is valid but has no access to the account in `x-service-account` or `x-checkly-account`.',
    fix: 'Use a key of that account, or leave the header out.',
    isRetryable: false,
  },
  READ_ONLY_KEY: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'The API key is read-only.',
    fix: 'Use a key with the role READ_WRITE or ADMIN.',
    isRetryable: false,
  },
  ADMIN_ONLY: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning:
      'The operation needs the role ADMIN: it manages members or API keys, or it changes a variable so that hidden values of checks would be sent to another address.',
    fix: 'Use a key, or log in as a member, with the role ADMIN.',
    isRetryable: false,
  },
  FOREIGN_ORIGIN: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'A page of another site called the MCP server, according to its `Origin` header.',
    fix: 'Use a client outside a browser. If the request came from a page of this service, set PUBLIC_URL.',
    isRetryable: false,
  },
  MCP_READ_ONLY: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'The client requested tools that write, but the service runs with MCP=read-only.',
    fix: 'Connect to `/mcp` without `write`, or ask the operator.',
    isRetryable: false,
  },
  BAD_LINK: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'The link of a notification or file has expired, or its signature is invalid.',
    fix: 'Open the link of a newer notification, open the file from the page of its run, or use the API with a key.',
    isRetryable: false,
  },
  NOT_FOUND: {
    statusCode: 404,
    phrase: 'Not Found',
    meaning: 'The route does not exist, or the account has no such object.',
    fix: 'Check the path and the id.',
    isRetryable: false,
  },
  NO_USAGE_TERMS: {
    statusCode: 404,
    phrase: 'Not Found',
    meaning: 'The request was for usage by contract. A self-hosted service has no contracts.',
    fix: 'Call `GET /v1/accounts/me/usage` to see how much the account stores.',
    isRetryable: false,
    isNamedInBody: true,
  },
  NO_MATCHING_CHECKS: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'The ids and tags of the request match no check that can run.',
    fix: 'Correct the ids or tags. Inactive checks and heartbeats cannot run.',
    isRetryable: false,
    errorCode: 'ERR_NO_MATCHING_CHECKS',
  },
  METHOD_NOT_ALLOWED: {
    statusCode: 405,
    phrase: 'Method Not Allowed',
    meaning: 'The path does not support this method.',
    fix: 'Use one of the methods in the `Allow` header.',
    isRetryable: false,
  },
  CONFLICT: {
    statusCode: 409,
    phrase: 'Conflict',
    meaning: 'The request conflicts with the current state: a name is taken, or an object is still in use.',
    fix: 'The message names the conflicting object.',
    isRetryable: false,
  },
  CANNOT_RUN_NOW: {
    statusCode: 409,
    phrase: 'Conflict',
    meaning: 'The request runs checks now, but no connected agent can run any of them.',
    fix: 'The message says what is missing at which location. Start an agent there, or one whose image has what the check needs.',
    isRetryable: false,
    isNamedInBody: true,
  },
  IDEMPOTENCY_KEY_IN_USE: {
    statusCode: 409,
    phrase: 'Conflict',
    meaning:
      'A request with the same `Idempotency-Key` is still in progress, or its outcome is unknown: the service stopped or failed before it stored the response.',
    fix: 'With a `Retry-After` header: send the request again. Without one: check whether the change was made, and use a new key if it was not.',
    isRetryable: true,
    isNamedInBody: true,
  },
  IDEMPOTENCY_KEY_REUSED: {
    statusCode: 422,
    phrase: 'Unprocessable Content',
    meaning: 'The `Idempotency-Key` was sent before with another body or address.',
    fix: 'Use a new key for each new request; send the same key only with the same request.',
    isRetryable: false,
    isNamedInBody: true,
  },
  IMPORT_OUT_OF_ORDER: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'The import cannot be applied, committed or cancelled in its current state.',
    fix: 'Apply an import first, then commit it; cancel it before it is committed.',
    isRetryable: false,
  },
  NOT_FINISHED: {
    statusCode: 408,
    phrase: 'Request Time-out',
    meaning: 'The request waited for an operation that did not finish in time.',
    fix: 'Repeat the request after the time in the `Retry-After` header.',
    isRetryable: true,
  },
  PAYLOAD_TOO_LARGE: {
    statusCode: 413,
    phrase: 'Payload Too Large',
    meaning: 'The body is larger than this operation accepts.',
    fix: 'Send less data per request.',
    isRetryable: false,
  },
  DIGEST_MISMATCH: {
    statusCode: 422,
    phrase: 'Unprocessable Content',
    meaning: 'The uploaded data differs from its announcement in size or SHA-256.',
    fix: 'Upload the same bytes that were announced.',
    isRetryable: true,
  },
  RANGE_NOT_SATISFIABLE: {
    statusCode: 416,
    phrase: 'Range Not Satisfiable',
    meaning: 'The requested range starts past the end of the file.',
    fix: 'Request a range within the size in `Content-Range`.',
    isRetryable: false,
  },
  UNSUPPORTED_MEDIA_TYPE: {
    statusCode: 415,
    phrase: 'Unsupported Media Type',
    meaning: 'The body is not JSON.',
    fix: 'Send `Content-Type: application/json`.',
    isRetryable: false,
  },
  RATE_LIMITED: {
    statusCode: 429,
    phrase: 'Too Many Requests',
    meaning: 'The key exceeded its rate limit.',
    fix: 'Wait for the time in the `Retry-After` header.',
    isRetryable: true,
  },
  CALLER_GONE: {
    statusCode: 499,
    phrase: 'Client Closed Request',
    meaning:
      'The client disconnected while its request waited, so the work was dropped. This code appears in logs only.',
    fix: 'Give the client a longer timeout.',
    isRetryable: true,
  },
  INTERNAL: {
    statusCode: 500,
    phrase: 'Internal Server Error',
    meaning: 'The service has a fault. Its log has the details under the `x-request-id` of the response.',
    fix: 'Report the fault with that id.',
    isRetryable: true,
  },
  STORE_UNAVAILABLE: {
    statusCode: 503,
    phrase: 'Service Unavailable',
    meaning: 'The database is not responding, or the service is shutting down.',
    fix: 'Try again. Agents retry automatically.',
    isRetryable: true,
  },
  STORAGE_FULL: {
    statusCode: 503,
    phrase: 'Service Unavailable',
    meaning:
      'The disk of the database is full, so the service cannot store anything. At start, `picket service` exits with code 1.',
    fix: 'Free space on the disk that the message names. The service then continues, and agents send their results again.',
    isRetryable: true,
    isNamedInBody: true,
  },
  ARTIFACT_STORE_FULL: {
    statusCode: 507,
    phrase: 'Insufficient Storage',
    meaning: 'The artifact store is full.',
    fix: 'Free space there. Agents retry for some time.',
    isRetryable: true,
  },
  CONFIG_INVALID: {
    statusCode: 0,
    phrase: 'Configuration',
    meaning: 'The configuration is invalid. The message lists every problem. The process exits with code 2.',
    fix: 'Correct the listed settings. docs/reference/config.md describes each one.',
    isRetryable: false,
  },
  CHECK_FILE_INVALID: {
    statusCode: 0,
    phrase: 'Check file',
    meaning: '`picket run` could not read the file as a check. The process exits with code 2.',
    fix: 'Correct the listed fields.',
    isRetryable: false,
  },
  SERVICE_REFUSED: {
    statusCode: 0,
    phrase: 'Service',
    meaning: 'The service rejected a request of the agent. A retry would fail, too.',
    fix: 'The message has the response of the service. With 401 the location key is revoked or mistyped.',
    isRetryable: false,
  },
  SERVICE_UNREACHABLE: {
    statusCode: 0,
    phrase: 'Service',
    meaning: 'The agent got no usable response from the service.',
    fix: 'Check SERVICE_URL, the proxy settings and the network. The agent keeps trying.',
    isRetryable: true,
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

export interface ErrorDetails {
  /** Source and names of the bad fields; `keys` are dotted paths such as `request.url`. */
  readonly validation?: {
    readonly source: 'payload' | 'query' | 'params' | 'headers';
    readonly keys: readonly string[];
    /** Problem of each field, for forms; absent if only the message describes it. Not part of responses. */
    readonly problems?: readonly { readonly key: string; readonly message: string }[];
  };
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An error of the catalogue. Its message is written for the affected user: what failed, where, and how to fix it. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly statusCode: number;
  readonly phrase: string;
  readonly isRetryable: boolean;
  readonly validation: ErrorDetails['validation'];
  readonly attributes: ErrorDetails['attributes'];
  readonly errorCode: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const entry: ErrorEntry = errorCatalogue[code];
    this.name = 'AppError';
    this.code = code;
    this.statusCode = entry.statusCode;
    this.phrase = entry.phrase;
    this.isRetryable = entry.isRetryable;
    this.validation = details.validation;
    this.attributes = details.attributes;
    this.errorCode = entry.errorCode;
  }
}

/** Whether the database failed rather than the request: the same request succeeds once the database is back. */
export function isStoreFailure(error: unknown): boolean {
  return error instanceof AppError && ['STORE_UNAVAILABLE', 'STORAGE_FULL'].includes(error.code);
}

/** Whether clients identify an error by its name, as `code` of the body. */
export function isNamedInBody(code: ErrorCode): boolean {
  const entry: ErrorEntry = errorCatalogue[code];
  return entry.isNamedInBody ?? false;
}

/** Converts any thrown value to an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Returns the `code` of a system or library error (`ECONNREFUSED`, `UND_ERR_ABORTED`, …), if present. */
export function errorCodeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
