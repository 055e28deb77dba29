/** The detail of a URL run with its URL and, if it was resolved, its address. */
export function urlDetail(url: string, ipAddress: string | null) {
  return {
    ...{ assertions: [], requestError: null, jobLog: null, jobAssets: null, pcapDataUrl: null },
    request: { method: 'GET', url, data: '', headers: {}, params: {} },
    response: {
      ...{ status: 0, statusText: '', body: '', headers: null, timings: null, timingPhases: null, href: url },
      ...{ truncated: false, httpVersion: null, ipAddress, redirectCount: 0 },
    },
  };
}
