// The agent's preload puts this object in place in every process of a run; elsewhere (on a developer's machine) there is
// none, and marking does nothing but say so.
const agentKey = Symbol.for('service.playwright-helpers');

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

module.exports = { markCheckAsDegraded, getAPIResponseTime };
