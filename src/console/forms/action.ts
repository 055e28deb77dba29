import type { Viewer } from '@picket/service/logins/sessions.ts';
import { csrfField } from '../elements/form.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Problems } from './problems.ts';

export interface Action {
  /** Target of the form. */
  readonly to: string;
  readonly word: string;
  readonly viewer: Viewer;
  readonly isDanger?: boolean;
  readonly isPrimary?: boolean;
  /** Subject of the button, for screen-reader users who hear it without its context. */
  readonly about?: string;
  /** Fields besides the token. */
  readonly fields?: Content;
}

/** A button that acts immediately. */
export function actionButton({ to, word, viewer, isDanger, isPrimary, about, fields = '' }: Action): Html {
  const kind = isDanger ? ' danger' : isPrimary ? ' primary' : '';
  return html`<form class="action" method="post" action="${to}">${csrfField(viewer)}${fields}<button class="button${kind}" type="submit"${
    about === undefined ? '' : html` aria-label="${word}: ${about}"`
  }>${word}</button></form>`;
}

/** A button that asks for confirmation and describes its effect there. */
export function confirmed(
  action: Action & { readonly question: Content; readonly confirmWord: string },
): Html {
  const { word, about, question, confirmWord } = action;
  return html`<details class="confirm"><summary class="button danger"${
    about === undefined ? '' : html` aria-label="${word}: ${about}"`
  }>${word}</summary><div class="confirm-box"><p>${question}</p>${actionButton({ ...action, word: confirmWord, isDanger: true })}</div></details>`;
}

/** A message about success or refusal at the top of a page. */
export function notice(message: Content, kind: 'done' | 'refused' = 'done'): Html {
  return html`<div class="notice notice-${kind}" role="${kind === 'done' ? 'status' : 'alert'}">${message}</div>`;
}

export function problemNotice(problems: Problems | undefined): Html | '' {
  if (!problems) return '';
  const said = problems.message === '' ? 'Not saved. Check the fields below.' : problems.message;
  return notice(said, 'refused');
}
