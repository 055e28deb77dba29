/**
 * The catalogue of errors a user can meet at the API or the command line. Every thrown error that leaves a
 * process is one of these; `docs/reference/errors.md` is generated from this list. Failures of checks are
 * values, not errors: see `src/checks/contract/failure.ts`.
 */

interface ErrorEntry {
  /** HTTP status; 0 for errors that only end a process. */
  readonly statusCode: number;
  /** The HTTP phrase, as the `error` field of the body shows it. */
  readonly phrase: string;
  /** When it happens, for people who read docs/reference/errors.md. */
  readonly meaning: string;
  /** What the reader can do about it. */
  readonly fix: string;
  /** True when the same request may succeed later without a change. */
  readonly isRetryable: boolean;
  /** Whether the body carries its name as `code`, as existing clients look for it. */
  readonly isNamedInBody?: true;
  /** What clients of the field know the error by: the `errorCode` of the body. */
  readonly errorCode?: string;
}

export const errorCatalogue = {
  VALIDATION_FAILED: {
    statusCode: 400,
    phrase: 'Bad Request',
    meaning: 'A field of the body, the query or the path has a value that is not allowed.',
    fix: 'Correct the fields listed in `validation.keys`; the message says what each of them allows.',
    isRetryable: false,
  },
  MALFORMED_BODY: {
    statusCode: 400,
    phrase: 'Bad Request',
    meaning: 'The body is not valid JSON, or it is missing.',
    fix: 'Send one JSON document with `Content-Type: application/json`.',
    isRetryable: false,
  },
  BAD_TOKEN: {
    statusCode: 401,
    phrase: 'Unauthorized',
    meaning: 'The `Authorization` header is missing, malformed, or its key is unknown or revoked.',
    fix: 'Send `Authorization: Bearer <API_KEY>` with a key that is still active.',
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
    meaning: 'The API key may read but not change anything.',
    fix: 'Use a key with the role READ_WRITE or ADMIN.',
    isRetryable: false,
  },
  ADMIN_ONLY: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning:
      'People and API keys are for the role ADMIN only, and so are variables that would send hidden values of checks to another address.',
    fix: 'Use a key, or log in as a member, with the role ADMIN.',
    isRetryable: false,
  },
  FOREIGN_ORIGIN: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'A page of another site asked the MCP server, as its `Origin` header says.',
    fix: 'Use a client that is a program. For pages of the service itself set PUBLIC_URL.',
    isRetryable: false,
  },
  MCP_READ_ONLY: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'A client asked for tools that change something, and the service has MCP=read-only.',
    fix: 'Connect to `/mcp` without `write`, or ask the operator.',
    isRetryable: false,
  },
  BAD_LINK: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'The link of a notification or of a file is not signed as it should be, or its time is over.',
    fix: 'Open the link of a newer notification, or the file from the page of its run; or use the API with a key.',
    isRetryable: false,
  },
  NOT_FOUND: {
    statusCode: 404,
    phrase: 'Not Found',
    meaning: 'There is no such route, or no such object in this account.',
    fix: 'Check the path and the id.',
    isRetryable: false,
  },
  NO_USAGE_TERMS: {
    statusCode: 404,
    phrase: 'Not Found',
    meaning: 'Usage by contract was asked for, and a service of your own has no contracts.',
    fix: 'Ask `GET /v1/accounts/me/usage` for what the account has stored.',
    isRetryable: false,
    isNamedInBody: true,
  },
  NO_MATCHING_CHECKS: {
    statusCode: 403,
    phrase: 'Forbidden',
    meaning: 'The ids and tags of a request to run checks match no check that can be run.',
    fix: 'Correct the ids or tags; checks that are switched off, and heartbeats, are not run.',
    isRetryable: false,
    errorCode: 'ERR_NO_MATCHING_CHECKS',
  },
  METHOD_NOT_ALLOWED: {
    statusCode: 405,
    phrase: 'Method Not Allowed',
    meaning: 'The path exists, but not with this method.',
    fix: 'Use one of the methods in the `Allow` header.',
    isRetryable: false,
  },
  CONFLICT: {
    statusCode: 409,
    phrase: 'Conflict',
    meaning: 'The request contradicts the present state: a name is taken, or an object is still in use.',
    fix: 'The message names the object in the way.',
    isRetryable: false,
  },
  CANNOT_RUN_NOW: {
    statusCode: 409,
    phrase: 'Conflict',
    meaning: 'Checks are to be run now, and no agent that is there can run any of them.',
    fix: 'The message says what is missing, and where: start an agent of the location, or one whose image has what the check needs.',
    isRetryable: false,
    isNamedInBody: true,
  },
  IDEMPOTENCY_KEY_IN_USE: {
    statusCode: 409,
    phrase: 'Conflict',
    meaning:
      'A request with the same `Idempotency-Key` is still being answered, or its outcome is unknown: the service ended or failed before its answer was stored.',
    fix: 'Where there is a `Retry-After` header, send it again. Else look whether it was carried out, and use a new key if it was not.',
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
    meaning: 'An import is applied, committed or cancelled when it is not its turn.',
    fix: 'Apply an import first, then commit it; cancel it before it is committed.',
    isRetryable: false,
  },
  NOT_FINISHED: {
    statusCode: 408,
    phrase: 'Request Time-out',
    meaning: 'What the request waits for did not end in time.',
    fix: 'Ask again, as the `Retry-After` header says.',
    isRetryable: true,
  },
  PAYLOAD_TOO_LARGE: {
    statusCode: 413,
    phrase: 'Payload Too Large',
    meaning: 'The body is larger than this operation accepts.',
    fix: 'Send less at once.',
    isRetryable: false,
  },
  DIGEST_MISMATCH: {
    statusCode: 422,
    phrase: 'Unprocessable Content',
    meaning: 'The bytes sent are not those that were announced: their number or their SHA-256 differs.',
    fix: 'Send the bytes again as they were when they were announced.',
    isRetryable: true,
  },
  RANGE_NOT_SATISFIABLE: {
    statusCode: 416,
    phrase: 'Range Not Satisfiable',
    meaning: 'The requested range starts past the end of the file.',
    fix: 'Ask for a range within the size in `Content-Range`.',
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
    meaning: 'Too many requests with this key in too short a time.',
    fix: 'Wait as long as the `Retry-After` header says.',
    isRetryable: true,
  },
  CALLER_GONE: {
    statusCode: 499,
    phrase: 'Client Closed Request',
    meaning: 'The caller hung up while its request waited; the work was dropped. It stands in logs only.',
    fix: 'Wait for the answer, or give the client a longer timeout.',
    isRetryable: true,
  },
  INTERNAL: {
    statusCode: 500,
    phrase: 'Internal Server Error',
    meaning: 'A fault of ours. It is in the service log under the `x-request-id` of the answer.',
    fix: 'Report it with that id.',
    isRetryable: true,
  },
  STORE_UNAVAILABLE: {
    statusCode: 503,
    phrase: 'Service Unavailable',
    meaning: 'The database does not answer, or the service is shutting down.',
    fix: 'Try again; agents do so by themselves.',
    isRetryable: true,
  },
  STORAGE_FULL: {
    statusCode: 503,
    phrase: 'Service Unavailable',
    meaning:
      'The disk of the database is full: nothing can be stored. At start, `picket service` ends with code 1.',
    fix: 'Make room on the disk the message names; the service continues by itself, and agents send their results again.',
    isRetryable: true,
    isNamedInBody: true,
  },
  ARTIFACT_STORE_FULL: {
    statusCode: 507,
    phrase: 'Insufficient Storage',
    meaning: 'The artifact store is full.',
    fix: 'Make room there; agents try again by themselves for a while.',
    isRetryable: true,
  },
  CONFIG_INVALID: {
    statusCode: 0,
    phrase: 'Configuration',
    meaning: 'The configuration has problems; all of them are listed. The process exits with code 2.',
    fix: 'Correct the listed settings; docs/reference/config.md describes each.',
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
    meaning: 'The service answered the agent with an error that repeating the request cannot fix.',
    fix: 'The message holds the service’s answer; a 401 means the location key was revoked or mistyped.',
    isRetryable: false,
  },
  SERVICE_UNREACHABLE: {
    statusCode: 0,
    phrase: 'Service',
    meaning: 'The agent got no usable answer from the service.',
    fix: 'Check SERVICE_URL, the proxy settings and the network; the agent keeps trying.',
    isRetryable: true,
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

export interface ErrorDetails {
  /** Where the bad fields were and which they are; `keys` are dotted paths such as `request.url`. */
  readonly validation?: {
    readonly source: 'payload' | 'query' | 'params' | 'headers';
    readonly keys: readonly string[];
  };
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * An error of the catalogue. Its message is written for the user who meets it: what, where, how to fix it.
 */
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

/** Whether the database failed, not the request: the same request succeeds once the database is back. */
export function isStoreFailure(error: unknown): boolean {
  return error instanceof AppError && ['STORE_UNAVAILABLE', 'STORAGE_FULL'].includes(error.code);
}

/** Whether clients look for an error by its name, as `code` of the body. */
export function isNamedInBody(code: ErrorCode): boolean {
  const entry: ErrorEntry = errorCatalogue[code];
  return entry.isNamedInBody ?? false;
}

/** Whatever was thrown, as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The `code` of a system or library error (`ECONNREFUSED`, `UND_ERR_ABORTED`, …), if it has one. */
export function errorCodeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
