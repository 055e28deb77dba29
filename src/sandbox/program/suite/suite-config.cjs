'use strict';
const { withOwnPorts } = require('./own-ports.cjs');

/** Settings of every run of a Playwright suite in addition to its own configuration. */

/** Only used where the suite's configuration has no value. */
const defaults = { workers: 4, retries: 2 };
const useDefaults = { video: 'on-first-retry', screenshot: 'only-on-failure' };

/**
 * Adapts the suite's configuration. Forced: a trace of every test, headless mode, a global time limit, a report that
 * the agent keeps.
 *
 * @param settings of the agent: globalTimeoutMs, reportPath, ffmpegPath, proxy, ownPortsPath.
 */
function adaptConfig(config, settings) {
  const { use, projects } = config;
  const proxy = settings.proxy ? { proxy: settings.proxy } : {};
  return {
    ...config,
    ...(config.webServer ? { webServer: withOwnPorts(config.webServer, settings) } : {}),
    workers: config.workers ?? defaults.workers,
    retries: config.retries ?? defaults.retries,
    globalTimeout: Math.min(config.globalTimeout || Number.POSITIVE_INFINITY, settings.globalTimeoutMs),
    reporter: [...reporters(config.reporter), ['json', { outputFile: settings.reportPath }]],
    use: forced({ ...useDefaults, ...proxy, ...use, trace: 'on', headless: true }, settings),
    ...(projects
      ? { projects: projects.map((project) => ({ ...project, use: forced(project.use ?? {}, settings) })) }
      : {}),
  };
}

function forced(use, { ffmpegPath }) {
  const changed = { ...use };
  if ('trace' in use) changed.trace = 'on';
  if ('headless' in use) changed.headless = true;
  // Without ffmpeg Playwright would fail every page with a recording.
  if ('video' in use && !ffmpegPath) changed.video = 'off';
  return changed;
}

function reporters(given) {
  if (given === undefined) return [['list']];
  const list = typeof given === 'string' ? [[given]] : given;
  // Playwright would serve the report of a failed run until the run is killed.
  return list.map((one) => (one?.[0] === 'html' ? ['html', { ...one[1], open: 'never' }] : one));
}

module.exports = { adaptConfig };
