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

/**
 * The problems that an error names. Its message tells all of them one after the other, each behind the path of
 * its field in quotation marks: what cannot be distinguished so stays together.
 */
export function problemsOf({ message, statusCode, validation }: AppError): Problems {
  const keys = validation?.keys ?? [];
  const found = keys.flatMap((key) => {
    const start = message.startsWith(`"${key}" `) ? 0 : message.indexOf(`; "${key}" `);
    return start === -1 ? [] : [{ key, start: start === 0 ? 0 : start + 2 }];
  });
  const inOrder = found.toSorted((left, right) => left.start - right.start);
  const fields = new Map(
    inOrder.map(({ key, start }, index) => {
      const end = inOrder[index + 1]?.start ?? message.length;
      const said = message.slice(start + key.length + 3, end).replace(/; $/, '');
      return [key, capitalized(said)];
    }),
  );
  const isAllTold = fields.size > 0 && fields.size === keys.length;
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
