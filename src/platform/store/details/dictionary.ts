/**
 * Content that details of runs share: field names, and common values. Compression refers to the dictionary instead of
 * storing it with each detail; loading it costs a little each time, so each kind of check has its own. Stored rows
 * refer to it, so it never changes; a better one would be a new format (packed-detail.ts). Frequent content is at the
 * end.
 */
export const detailDictionaries = {
  network: text([
    '{"accessibilityViolations":[],"sessionUuid":"","totalTestsCount":,"testResults":[{"title":"","status":"passed","duration":,"retry":0,"attachments":[',
    '"pages":[{"url":"","webVitals":{"FCP":{"score":"GOOD","value":},"LCP":{"score":"GOOD","value":},"CLS":{"score":"GOOD","value":},"TBT":{"score":"GOOD","value":},"TTFB":{"score":"GOOD","value":}}}',
    '"traceFiles":[],"screenshots":[],"videos":[],"snapshots":[],"errors":[],"startTime":,"endTime":,"runtimeVersion":"","requestFailed":',
    '{"time":,"msg":"Navigated to ","level":"DEBUG"},{"time":,"msg":"","level":"INFO"},{"time":,"msg":"","level":"WARN"},{"time":,"msg":"","level":"ERROR"}',
    '{"assertions":[],"request":{"hostname":"","port":443,"ipFamily":"IPv4","serverName":null,"startTls":null,"alpnProtocols":["h2","http/1.1"],"skipChainValidation":false},',
    '"response":{"resolvedIp":"","ipFamily":"IPv4","timingPhases":{"dns":0.,"connection":0.,"startTls":0,"tls":,"total":},"handshakeTimeMs":,"protocol":"TLSv1.3","cipherSuite":"TLS_AES_256_GCM_SHA384","keyExchange":"X25519","alpnProtocol":"h2",',
    '"chainTrusted":true,"trustError":null,"hostnameVerified":true,"hostnameError":null,"daysUntilExpiry":,"chainDaysUntilExpiry":,"ocspStapled":false,"ocspStatus":null,"ocsp":null,"securityBaseline":{"verdict":"pass",',
    '{"severity":"fail","violated":false,"value":},{"severity":"degrade","violated":false,"value":},"certificate":{"subjectCN":"","subject":"CN=","issuerCN":"R11","issuer":"C=US, O=Let\'s Encrypt, CN=","serialNumber":"","fingerprintSha256":"","notBefore":"2026-',
    '","notAfter":"2026-","daysUntilExpiry":,"sans":["www."],"keyAlgorithm":"EC","keySizeBits":256,"signatureAlgorithm":"sha256WithRSAEncryption","selfSigned":false,"isCA":false,"mustStaple":false,"scts":[{"logId":"","timestamp":"2026-',
    '"}]},"chain":[],"path":[{"subjectCN":"","fingerprintSha256":"","notAfter":"","wasSent":true}],"baselineVerdict":"pass","degradedReasons":[],',
    '{"assertions":[],"request":{"query":"","recordType":"A","recordClass":"IN","protocol":"UDP","nameServer":null,"port":53},"response":{"returnCode":"NOERROR","answer":"","responseTime":,"nameServerInfo":{"name":null,"host":"10.","port":53},"retriedOverTcp":false,"truncated":false,',
    '"json":{"Status":"NOERROR","AA":false,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"Question":[{"name":"","type":"A"}],"Answer":[{"name":"","type":"A","TTL":300,"data":""}],"Authority":[],"Additional":[]}}',
    '{"assertions":[],"request":{"hostname":"","targetIp":"","ipFamily":"IPv4","pingCount":10},"response":{"hostname":"","resolvedIp":"","ipFamily":"IPv4","pingCount":10,"packetsSent":10,"packetsReceived":10,"packetSize":64,"packetLoss":0,"dnsResolutionTime":0.,"latency":{"avg":0.,"min":0.,"max":0.,"stdDev":0.},',
    '"pingResults":[{"sequence":0,"type":0,"code":0,"success":true,"rtt":0.,"ttl":64,"from":"10.0.0.1","error":null},{"sequence":1,"type":0,"code":0,"success":true,"rtt":0.,"ttl":64,"from":"',
    '{"assertions":[],"request":{"hostname":"","port":443,"data":null,"ipFamily":"IPv4","useSSL":false,"skipSSL":false},"response":{"data":"","truncated":false,"timingPhases":{"dns":0.,"connection":0.,"tls":0,"data":0,"total":0.},"ipAddress":"10.","ipFamily":"IPv4","certificate":null},',
    ',"requestError":null,"jobLog":{"setup":[],"request":[],"teardown":[]},"jobLog":null,"jobAssets":null,"pcapDataUrl":null}',
  ]),
  http: text([
    '<!DOCTYPE html>\\n<html lang=\\"en\\">\\n<head>\\n<meta charset=\\"utf-8\\">\\n<meta name=\\"viewport\\" content=\\"width=device-width, initial-scale=1\\">\\n<title></title>\\n<link rel=\\"stylesheet\\" href=\\"/\\">\\n<script src=\\"/\\"></script>\\n</head>\\n<body>\\n<div class=\\"\\"></div>\\n</body>\\n</html>\\n',
    '{\\"status\\":\\"ok\\",\\"data\\":[{\\"id\\":1,\\"name\\":\\"\\",\\"version\\":\\"1.0.0\\",\\"timestamp\\":\\"2026-',
    '{"assertions":[{"source":"STATUS_CODE","property":"","comparison":"EQUALS","target":"200","regex":"","actual":200,"error":null},{"source":"JSON_BODY","property":"$.","comparison":"NOT_EMPTY"},{"source":"RESPONSE_TIME","comparison":"LESS_THAN","target":"1000"},{"source":"TEXT_BODY","comparison":"CONTAINS"},{"source":"HEADERS","property":"content-type"}],',
    '"etag":"W/\\"","last-modified":"Mon, 01 Jan 2026 00:00:00 GMT","expires":"-1","pragma":"no-cache","via":"1.1 varnish","age":"0","x-cache":"HIT","x-powered-by":"Express","set-cookie":"session=<secret>; Path=/; HttpOnly; Secure; SameSite=Lax","location":"https://',
    '"access-control-allow-origin":"*","access-control-allow-headers":"","x-frame-options":"SAMEORIGIN","x-content-type-options":"nosniff","x-xss-protection":"0","referrer-policy":"strict-origin-when-cross-origin","content-security-policy":"default-src \'self\'; ","strict-transport-security":"max-age=31536000; includeSubDomains","x-request-id":"',
    '"content-encoding":"gzip","content-length":"","accept-ranges":"bytes",',
    '"redirects":[{"href":"http://","status":301,"timingPhases":{"wait":0.,',
    '{"assertions":[],"request":{"method":"GET","url":"https://","data":"","headers":{"user-agent":"picket/","accept":"*/*","accept-encoding":"gzip, deflate, br","authorization":"Bearer <secret>","content-type":"application/json","traceparent":"00-"},"params":{}},',
    '"response":{"status":200,"statusText":"OK","body":"","headers":{"date":"Mon, 01 Jan 2026 00:00:00 GMT","content-type":"text/html; charset=utf-8","server":"nginx","connection":"keep-alive","keep-alive":"timeout=5","transfer-encoding":"chunked","vary":"Accept-Encoding","cache-control":"max-age=0, private, must-revalidate, no-cache, no-store"},',
    '"timings":{"socket":0.,"lookup":0.,"connect":,"response":,"end":},"timingPhases":{"wait":0.,"dns":0.,"tcp":0.,"firstByte":,"download":0.,"total":,"tls":,"proxy":0},"href":"https://","truncated":false,"readLimitBytes":null,"httpVersion":"1.1","ipAddress":"10.","ipFamily":"IPv4","redirectCount":0,',
    '"certificate":{"subject":"","issuer":"","validTo":"2026-","daysRemaining":,"protocol":"TLSv1.3","cipher":"TLS_AES_256_GCM_SHA384"}},"certificate":null},"requestError":null,"jobLog":{"setup":[],"request":[],"teardown":[]},"jobLog":null,"jobAssets":null,"pcapDataUrl":null}',
  ]),
} as const;

function text(lines: readonly string[]): Buffer {
  return Buffer.from(lines.join(''));
}
