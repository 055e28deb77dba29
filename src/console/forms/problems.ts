import { AppError, type ErrorCode } from '@picket/lib/errors.ts';

/** What an operation had against what a form said. */
export interface Problems {
  readonly statusCode: number;
  /** What is wrong with a field, by its dotted path. */
  readonly fields: ReadonlyMap<string, string>;
  /** What belongs to no field; empty when every problem has one. */
  readonly message: string;
}

/** Errors that people can do something about in the form itself; all others are a page of their own. */
const correctable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'VALIDATION_FAILED',
  'CONFLICT',
  'CANNOT_RUN_NOW',
  'RATE_LIMITED',
  'PAYLOAD_TOO_LARGE',
]);

/** Does what a form asked for: what came of it, or why it was refused. */
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

/** The problems that an error names: those of fields by their paths, and the whole message where it says more. */
export function problemsOf({ message, statusCode, validation }: AppError): Problems {
  const { keys = [], problems = [] } = validation ?? {};
  const fields = new Map(
    [...Map.groupBy(problems, ({ key }) => key)].map(
      ([key, ofField]) => [key, capitalized(ofField.map((problem) => problem.message).join('; '))] as const,
    ),
  );
  const isAllTold = fields.size > 0 && keys.every((key) => fields.has(key));
  // A form that is shown again is a 422, unless the refusal says more.
  return {
    statusCode: statusCode === 400 ? 422 : statusCode,
    fields,
    message: isAllTold ? '' : message,
  };
}

function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
