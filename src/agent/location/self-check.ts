import type { SicknessKind } from '../../protocol/locations/location-event.ts';

/** What a look at one part of the location came to; `unknown` where nothing can be said. */
export type SelfCheckOutcome =
  | { readonly state: 'well' | 'unknown' }
  | { readonly state: 'sick'; readonly evidence: string };

/** A look at one part of the place the agent runs in. */
export interface SelfCheck {
  readonly kind: SicknessKind;
  /** Never rejects for what it finds; takes a few seconds at most. */
  look(): Promise<SelfCheckOutcome> | SelfCheckOutcome;
  /** Gives back what it holds. */
  stop?(): void;
}

export const well: SelfCheckOutcome = { state: 'well' };
export const unknown: SelfCheckOutcome = { state: 'unknown' };
export const sick = (evidence: string): SelfCheckOutcome => ({ state: 'sick', evidence });
