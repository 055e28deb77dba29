import { type Html, html } from '../html.ts';

/** How things stand; what no run has measured is neither well nor bad. */
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

/** A state in words with its sign: colour is never the only one. */
export function stateBadge(state: State, word: string = states[state].word): Html {
  return html`<span class="state state-${state}"><span class="sign" aria-hidden="true">${states[state].sign}</span>${word}</span>`;
}
