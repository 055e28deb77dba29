import { type Html, html } from '../html.ts';

/** States of checks; an unmeasured one is neither good nor bad. */
export const states = {
  passed: { word: 'Passing', sign: '✓' },
  degraded: { word: 'Degraded', sign: '~' },
  failed: { word: 'Failing', sign: '✕' },
  error: { word: 'Not judged', sign: '!' },
  missed: { word: 'Not measured', sign: '–' },
  waiting: { word: 'No run yet', sign: '·' },
  off: { word: 'Paused', sign: '‖' },
} as const;
export type State = keyof typeof states;

/** Shows a state in words with a sign: colour is never the only indication. */
export function stateBadge(state: State, word: string = states[state].word): Html {
  return html`<span class="state state-${state}"><span class="sign" aria-hidden="true">${states[state].sign}</span>${word}</span>`;
}
