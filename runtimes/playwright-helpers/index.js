const codes = require('./totp.js');

// The agent's preload puts this object in place in every process of a run; elsewhere (on a developer's machine) there is
// none, and marking does nothing but say so.
const agentKey = Symbol.for('service.playwright-helpers');
/** The same, in setup and teardown scripts too: takes the name and the value of a secret of the run. */
const keepSecretKey = Symbol.for('service.run-secrets');

/**
 * Marks the running check as degraded, if it does not fail otherwise. Failures of soft assertions alone leave it
 * degraded; any other failure wins.
 *
 * @param {string} [reason] shown in the result.
 */
function markCheckAsDegraded(reason) {
  const agent = globalThis[agentKey];
  if (agent) agent.markDegraded(reason === undefined ? null : String(reason));
  else console.warn(`check marked as degraded${reason === undefined ? '' : `: ${reason}`}`);
}

/**
 * How long an API request took, in milliseconds: from sending it until its answer was there.
 *
 * @param {import('@playwright/test').APIResponse} response what a method of Playwright's `request` returned.
 * @returns {number | undefined} undefined when the response is of another origin.
 */
function getAPIResponseTime(response) {
  return globalThis[agentKey]?.responseTimeMs(response);
}

/**
 * The code of a second factor (RFC 6238): `await totp(process.env.SERVICE_SECRET_TOTP)`. The secret becomes a secret of
 * the run: the agent masks it in everything that leaves. The code is not masked: it is valid once, for seconds.
 *
 * @param {string} secret in base32, with or without spaces, or an otpauth://totp URL.
 * @param {{ algorithm?: 'SHA1' | 'SHA256' | 'SHA512', digits?: number, periodSeconds?: number, minRemainingSeconds?: number, at?: number | Date }} [options]
 * @returns {Promise<string>}
 */
function totp(secret, options) {
  return codes.totp(secret, options, (value) => globalThis[keepSecretKey]?.('totp', value));
}

module.exports = { markCheckAsDegraded, getAPIResponseTime, totp };
