'use strict';
/** Runs in every page, before the page's own scripts: collects its web vitals and reports them on pagehide. */

/** The name of the function with which a page reports to the process that drives the browser. */
const reportName = '__serviceReportPage';
/** The name of the function with which that process queries an open page. */
const readName = '__servicePage';

/** The source of this function runs in the page; it cannot use anything outside itself. */
function collect(names) {
  if (window.top !== window || window[names.read] || !/^https?:$/.test(location.protocol)) return;
  // Firefox and WebKit measure only some of them: a sum of nothing must not look like a good one.
  const measures = (type) => window.PerformanceObserver?.supportedEntryTypes?.includes(type) === true;
  const vitals = {
    FCP: null,
    LCP: null,
    CLS: measures('layout-shift') ? 0 : null,
    TBT: measures('longtask') ? 0 : null,
    TTFB: null,
  };
  const observe = (type, take) => {
    if (!measures(type)) return;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) take(entry);
    }).observe({ type, buffered: true });
  };
  observe('paint', (entry) => {
    if (entry.name === 'first-contentful-paint') vitals.FCP = entry.startTime;
  });
  observe('largest-contentful-paint', (entry) => {
    vitals.LCP = entry.startTime;
  });
  observe('layout-shift', (entry) => {
    if (!entry.hadRecentInput) vitals.CLS += entry.value;
  });
  observe('longtask', (entry) => {
    vitals.TBT += Math.max(0, entry.duration - 50);
  });
  const read = () => {
    const [navigation] = performance.getEntriesByType('navigation');
    const since = (ms) => (ms > 0 ? ms : null);
    return {
      url: location.href,
      timeOrigin: performance.timeOrigin,
      vitals: { ...vitals, TTFB: navigation ? since(navigation.responseStart) : null },
      onContentLoad: navigation ? since(navigation.domContentLoadedEventStart) : null,
      onLoad: navigation ? since(navigation.loadEventStart) : null,
    };
  };
  Object.defineProperty(window, names.read, { value: read });
  addEventListener('pagehide', () => window[names.report]?.(JSON.stringify(read())));
}

const initScript = `(${collect})(${JSON.stringify({ report: reportName, read: readName })})`;

module.exports = { initScript, reportName, readName };
