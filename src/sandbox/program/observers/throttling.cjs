'use strict';
/**
 * Slows the network of every Chromium that a script opens. Playwright enables the network of each page, popup, frame of
 * another site and worker on a session of its own, before their first request: the conditions are sent right after that,
 * so that no request comes before them.
 */

let isEquipped = false;
let parsed;

/** Parameters of Network.emulateNetworkConditions, as the agent sets them; null without throttling. */
function conditions() {
  const text = process.env.PICKET_THROTTLING;
  if (!text) return null;
  if (parsed?.text !== text) parsed = { text, value: JSON.parse(text) };
  return parsed.value;
}

/** @param exported the exports of Playwright's file `crConnection`. */
function throttleSessions(exported) {
  const prototype = exported?.CRSession?.prototype;
  if (typeof prototype?.send !== 'function' || isEquipped) return;
  isEquipped = true;
  const { send } = prototype;
  prototype.send = function throttledSend(method, params) {
    const slow = conditions();
    if (!slow) return send.call(this, method, params);
    if (method === 'Network.emulateNetworkConditions' && isUnthrottled(params)) {
      return send.call(this, method, { ...params, ...slow });
    }
    const sent = send.call(this, method, params);
    if (method !== 'Network.enable') return sent;
    // Fails only where the target is gone, which Playwright notices itself.
    const slowed = send.call(this, 'Network.emulateNetworkConditions', { offline: false, ...slow });
    return Promise.all([sent, slowed.catch(() => undefined)]).then(([result]) => result);
  };
}

/** What Playwright sends for `setOffline`: it would end the throttling. Conditions of the script's own stay. */
function isUnthrottled({ latency, downloadThroughput, uploadThroughput }) {
  return latency === 0 && downloadThroughput === -1 && uploadThroughput === -1;
}

/**
 * Returns why a browser cannot be throttled, or undefined if it can, or need not be.
 *
 * @param browser as Playwright names it.
 * @param method of Playwright that opens it.
 */
function throttlingProblem(browser, method) {
  if (!conditions()) return undefined;
  if (browser !== 'chromium')
    return `The check has throttling, which Chromium alone supports, not ${browser}`;
  if (method === 'connect')
    return 'The check has throttling, which browsers of a Playwright server do not support';
  return isEquipped
    ? undefined
    : 'The check has throttling, which this version of Playwright does not support';
}

module.exports = { throttleSessions, throttlingProblem };
