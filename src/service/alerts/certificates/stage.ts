/** Days before expiry at which a channel is reminded; -1 is after expiry. */
const remindedAtDays = [7, 3, 1, 0, -1];

/** The notice of a certificate that a channel is due: at its own threshold, then at fewer days; null before that. */
export function certificateStage(daysRemaining: number, thresholdDays: number): number | null {
  if (daysRemaining > thresholdDays) return null;
  const stages = [thresholdDays, ...remindedAtDays.filter((days) => days < thresholdDays)];
  // After expiry every day counts as the last stage.
  return stages.filter((days) => Math.max(daysRemaining, -1) <= days).at(-1) ?? null;
}
