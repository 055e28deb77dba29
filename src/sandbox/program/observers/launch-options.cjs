'use strict';
/**
 * Options for the launch of a browser other than Chromium. Tests get those of our configuration, whatever browser they
 * choose later: arguments that Chromium alone knows, and the channel of the browser for tests that choose none.
 */

/** The job of a run in test mode; see ../run/launch.cjs. Plain scripts have none, and their options are their own. */
function job() {
  const text = process.env.PICKET_RUN;
  return text ? JSON.parse(text) : undefined;
}

/**
 * @param browserType the object of Playwright that launches.
 * @param options of the call.
 * @returns the options to launch with.
 */
function launchOptions(browserType, options = {}) {
  const run = browserType.name() === 'chromium' ? undefined : job();
  if (!run) return options;
  const whole = { ...browserType._playwright?._defaultLaunchOptions, ...options };
  const [first] = run.browserNames ?? [];
  return {
    ...options,
    args: (whole.args ?? []).filter((arg) => !run.browserArgs.includes(arg)),
    channel: whole.channel === first ? undefined : whole.channel,
  };
}

module.exports = { launchOptions };
