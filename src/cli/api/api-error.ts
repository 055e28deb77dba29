/** Failure of a command that calls a service, in words for the person at the terminal. */
export class ApiError extends Error {
  /** Whether the user's input is wrong; otherwise the service refused or did not respond. */
  readonly isBadInput: boolean;

  constructor(message: string, isBadInput = false) {
    super(message);
    this.name = 'ApiError';
    this.isBadInput = isBadInput;
  }
}
