/** Names of statuses by number, as the API writes and accepts them; the probe has its own copy. */
const statusNames = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE'],
  ...['UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
];
const healthNames = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** Returns the number of a gRPC status, given its number or name. */
export function statusNumber(written: string): number | undefined {
  return numberIn(statusNames, written);
}

/** Does the same for a status of the health service. */
export function healthNumber(written: string): number | undefined {
  return numberIn(healthNames, written);
}

export function statusLabel(code: number): string {
  return statusNames[code] ?? `code ${code}`;
}

export function healthLabel(status: number): string {
  return healthNames[status] ?? `status ${status}`;
}

function numberIn(names: readonly string[], written: string): number | undefined {
  const text = written.trim();
  if (/^\d+$/.test(text)) return Number(text);
  const index = names.indexOf(text.toUpperCase());
  return index === -1 ? undefined : index;
}
