/** A TXT record that does not fit into a UDP reply of 1232 bytes. */
export const bigStrings = Array.from(
  { length: 20 },
  (_, index) => `${String(index).padStart(3, '0')}${'x'.repeat(240)}`,
);

/** A zone with a record of every type that a check can query. */
export const fullZone = `
$TTL 300
@ IN SOA ns hostmaster.example.test. 2026010101 7200 3600 1209600 300
@ NS ns
@ NS ns2.elsewhere.test.
@ A 192.0.2.10
@ MX 10 mail
@ MX 20 mail2.elsewhere.test.
@ CAA 0 issue "letsencrypt.org"
@ CAA 128 iodef "mailto:security@example.test"
@ DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==
@ TXT "v=spf1 -all"
@ HTTPS 1 . alpn=h2,h3 ipv4hint=192.0.2.10,192.0.2.11 ipv6hint=2001:db8::10
ns A 192.0.2.53
www A 192.0.2.1
www A 192.0.2.2
www AAAA 2001:db8::1
six AAAA 2001:db8:1:1:1:1:1:0
six AAAA 2001:db8::1:0:0:1
zeros AAAA 2001:db8:0:0:1:0:0:0
zeros AAAA 2001:0:0:1:0:0:0:1
zeros AAAA 2001:db8:0:1:1:1:1:1
compatible AAAA ::192.0.2.9
odd CNAME a\\@b\\$\\;\\(\\)\\"\\.c\\\\d\\032\\195\\188.example.test.
odd-mail MX 10 mail\\@home
odd-service SRV 1 2 3 ser\\.vice
a\\@b A 192.0.2.90
odd-binding SVCB 1 a\\@b.example.test. alpn=h2
mapped AAAA ::ffff:192.0.2.9
mail A 192.0.2.25
alias CNAME www
alias2 CNAME alias
alias3 CNAME alias2
elsewhere CNAME www.other.test.
dead CNAME nothing
loop1 CNAME loop2
loop2 CNAME loop1
text TXT "one string" "and \\"another\\""
text TXT "utf-8: \\195\\188"
big TXT ${bigStrings.map((part) => `"${part}"`).join(' ')}
_sip._tcp SRV 5 60 5060 sip
_443._tcp TLSA 3 1 1 8CB0FC6C527506A053F4F14C8464BEBBD6DEDE2738D11468DD953D7D6A3021F1
child NS ns.child
ns.child A 192.0.2.60
child DS 60485 13 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A
svc SVCB 16 pool.svc.example.net. alpn=h3 port=8443 key667=hello mandatory=port,alpn
svc SVCB 0 target.example.net.
*.wild A 192.0.2.77
xn--bcher-kva A 192.0.2.88
`;

export const reverseZone = `
$TTL 300
@ IN SOA ns.example.test. hostmaster.example.test. 1 7200 3600 1209600 300
@ NS ns.example.test.
1 PTR www.example.test.
`;

/** The mailbox of its SOA record has a dot before the @. */
export const dottedZone = `
$TTL 300
@ IN SOA ns.example.test. first\\.last.example.test. 1 7200 3600 1209600 300
@ NS ns.example.test.
`;
