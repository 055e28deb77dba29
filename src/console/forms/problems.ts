import { AppError, type ErrorCode } from '@picket/lib/errors.ts';

/** Problems of a form, as reported by an operation. */
export interface Problems {
  readonly statusCode: number;
  /** Problems of fields, by dotted path. */
  readonly fields: ReadonlyMap<string, string>;
  /** The remaining message; empty if every problem belongs to a field. */
  readonly message: string;
}

/** Errors that users can correct in the form itself; all others have a separate page. */
const correctable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'VALIDATION_FAILED',
  'CONFLICT',
  'CANNOT_RUN_NOW',
  'RATE_LIMITED',
  'PAYLOAD_TOO_LARGE',
]);

/** Runs the work of a form and returns its result, or the reasons for its refusal. */
export async function attempt<Done>(
  work: () => Promise<Done>,
): Promise<
  { readonly done: Done; readonly problems?: never } | { readonly done?: never; readonly problems: Problems }
> {
  try {
    return { done: await work() };
  } catch (thrown) {
    if (thrown instanceof AppError && correctable.has(thrown.code)) return { problems: problemsOf(thrown) };
    throw thrown;
  }
}

/** Extracts the problems of an error: those of fields by their paths, and the whole message if it says more. */
export function problemsOf({ message, statusCode, validation }: AppError): Problems {
  const { keys = [], problems = [] } = validation ?? {};
  const fields = new Map(
    [...Map.groupBy(problems, ({ key }) => key)].map(
      ([key, ofField]) => [key, capitalized(ofField.map((problem) => problem.message).join('; '))] as const,
    ),
  );
  const isAllTold = fields.size > 0 && keys.every((key) => fields.has(key));
  // A redisplayed form has status 422, unless the refusal has a more specific one.
  return {
    statusCode: statusCode === 400 ? 422 : statusCode,
    fields,
    message: isAllTold ? '' : message,
  };
}

function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
