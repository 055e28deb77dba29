/** The detail of a URL run that says where it went, and what the address was if it had one. */
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
