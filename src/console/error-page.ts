import { AppError } from '@picket/lib/errors.ts';
import { type Html, html } from './html.ts';

/** Content of an error page: the problem and the remedy. */
export function errorMain(error: AppError, requestId: string): Html {
  const { title, advice } = wordsOf(error);
  return html`<div class="error-page"><p class="error-status">${error.statusCode}</p><h1>${title}</h1>
<p>${error.message}</p><p>${advice}</p>
<p class="actions"><a class="button" href="/">To the overview</a></p>
<p class="small">Request <code>${requestId}</code></p></div>`;
}

export function errorTitle(error: AppError): string {
  return wordsOf(error).title;
}

function wordsOf({ code, statusCode }: AppError): { title: string; advice: string } {
  switch (code) {
    case 'NOT_FOUND':
      return {
        title: 'Not found',
        advice:
          'It may have been deleted, or it belongs to another account. Results are kept for a limited time.',
      };
    case 'ADMIN_ONLY':
    case 'READ_ONLY_KEY':
      return {
        title: 'Not allowed',
        advice: 'Ask an admin of the account for another role, or log in with a key whose role allows it.',
      };
    case 'STORE_UNAVAILABLE':
      return {
        title: 'The database is not responding',
        advice: 'Agents keep their results and send them later. Reload this page in a moment.',
      };
    case 'STORAGE_FULL':
      return {
        title: 'The disk is full',
        advice:
          'The service cannot store anything until disk space is free. Agents keep their results and send them later.',
      };
    case 'CANNOT_RUN_NOW':
      return {
        title: 'No agent can run it now',
        advice: 'The pages of locations show their agents and what each agent can run.',
      };
    case 'RATE_LIMITED':
      return { title: 'Too many requests', advice: 'Wait a moment, then try again.' };
  }
  if (statusCode >= 500) {
    return {
      title: 'Internal error',
      advice:
        'This is a fault in Picket. The log of the service has the details under the id of this request.',
    };
  }
  return { title: 'This is not possible', advice: 'Go back and correct the problem above.' };
}

/** Creates a refusal that only pages have, not the API. */
export function notAllowed(message: string): AppError {
  return new AppError('READ_ONLY_KEY', message);
}
