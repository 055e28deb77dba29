/** What the events of checks whose targets call in can be: pings, or, `FAILING`, the absence of one (check model 3.5). */
export const pingStates = ['EARLY', 'RECEIVED', 'GRACE', 'LATE', 'FAILING'] as const;
export type PingState = (typeof pingStates)[number];
