import type { ChainCertificate } from '@picket/probes/tls/certificate.ts';
import type { HandshakeFacts } from '@picket/probes/tls/handshake-facts.ts';
import type { FailureDetails } from '../contract/failure-details.ts';
import { type SecurityBaseline, type Severity, tlsVersions } from './baseline-spec.ts';

type RuleName = Exclude<keyof SecurityBaseline, 'enabled'>;
type BaselinePart = NonNullable<FailureDetails['baselinePart']>;

/** All other rules are about certificates. */
const rulesOfConnection: ReadonlySet<RuleName> = new Set([
  'minTLSVersion',
  'recommendedTLSVersion',
  'weakCipherSuite',
]);

/** Result of a rule that is not ignored. */
export interface JudgedRule {
  readonly severity: Exclude<Severity, 'ignore'>;
  readonly violated: boolean;
  /** The found value. */
  readonly value: string | number | null;
}

export interface JudgedBaseline {
  readonly rules: Readonly<Partial<Record<RuleName, JudgedRule>>>;
  /** Violations that make the run fail, one sentence for each rule. */
  readonly failures: readonly { readonly sentence: string; readonly part: BaselinePart }[];
  readonly degradations: readonly string[];
}

interface Finding {
  readonly violated: boolean;
  readonly value: string | number | null;
  readonly sentence: string;
}

/** Judges a handshake by a baseline; a baseline that is off has no rules. */
export function judgeBaseline(baseline: SecurityBaseline, handshake: HandshakeFacts): JudgedBaseline {
  const rules: Partial<Record<RuleName, JudgedRule>> = {};
  const failures: { sentence: string; part: BaselinePart }[] = [];
  const degradations: string[] = [];
  for (const [name, find] of Object.entries(finders) as [RuleName, (typeof finders)[RuleName]][]) {
    const { severity } = baseline[name];
    if (!baseline.enabled || severity === 'ignore') continue;
    const { violated, value, sentence } = find(handshake, baseline);
    rules[name] = { severity, violated, value };
    if (!violated) continue;
    if (severity === 'fail')
      failures.push({ sentence, part: rulesOfConnection.has(name) ? 'connection' : 'certificate' });
    else degradations.push(sentence);
  }
  return { rules, failures, degradations };
}

const finders: Readonly<
  Record<RuleName, (handshake: HandshakeFacts, baseline: SecurityBaseline) => Finding>
> = {
  minTLSVersion: ({ protocol }, { minTLSVersion }) => versionFinding(protocol, minTLSVersion.value),
  minKeySizeBits: (handshake, { minKeySizeBits }) => keyFinding(handshake, minKeySizeBits.value),
  weakSignatureAlgorithm: (handshake) => {
    const weak = judgedCertificates(handshake).find(({ signatureAlgorithm }) =>
      /^(MD2|MD5|SHA1)-|-SHA1$/.test(signatureAlgorithm),
    );
    return {
      violated: weak !== undefined,
      value: (weak ?? handshake.chain[0])?.signatureAlgorithm ?? null,
      sentence: `The signature of ${certificateName(weak)} is weak: ${weak?.signatureAlgorithm}`,
    };
  },
  weakCipherSuite: ({ cipherSuite }) => ({
    violated: /NULL|EXPORT|RC2|RC4|_DES_|_3DES_|_MD5|_anon_/i.test(cipherSuite ?? ''),
    value: cipherSuite,
    sentence: `The cipher suite ${cipherSuite} is weak`,
  }),
  knownBadCA: ({ path }) => {
    const bad = path.find(({ subject, issuer }) => distrusted.test(subject) || distrusted.test(issuer));
    return {
      violated: bad !== undefined,
      value: bad?.issuer ?? null,
      sentence: `${certificateName(bad)} belongs to an authority that browsers no longer trust: ${bad?.issuer}`,
    };
  },
  recommendedTLSVersion: ({ protocol }, { recommendedTLSVersion }) =>
    versionFinding(protocol, recommendedTLSVersion.value),
  recommendedKeySizeBits: (handshake, { recommendedKeySizeBits }) =>
    keyFinding(handshake, recommendedKeySizeBits.value),
  ocspMustStapleRespected: ({ chain: [leaf], staple }) => ({
    violated: leaf?.isStapleRequired === true && staple?.status !== 'good',
    value: staple?.status ?? null,
    sentence: 'The certificate requires a stapled OCSP response, but the target sends none with status good',
  }),
  sctPresent: ({ chain: [leaf] }) => ({
    violated: leaf !== undefined && leaf.scts.length === 0,
    value: leaf?.scts.length ?? null,
    sentence: 'The certificate contains no signed certificate timestamp',
  }),
};

/** Names of certificate authorities whose roots Mozilla, Google and Apple have completely removed or distrusted. */
const distrusted = /\b(DigiNotar|StartCom|WoSign|CNNIC|TrustCor|Camerfirma|e-Tugra|PROCERT|Certinomis)\b/i;

/**
 * Certificates that the target is responsible for: its own, and all others except self-signed roots, whose trust does
 * not depend on their signature.
 */
export function judgedCertificates({ path }: HandshakeFacts): readonly ChainCertificate[] {
  return path.filter(({ isSelfSigned }, index) => index === 0 || !isSelfSigned);
}

function versionFinding(protocol: string | null, least: (typeof tlsVersions)[number]): Finding {
  const rank = (tlsVersions as readonly string[]).indexOf(protocol ?? '');
  return {
    violated: rank < tlsVersions.indexOf(least),
    value: protocol,
    sentence: `The target negotiated ${protocol ?? 'no known version of TLS'}, which is less than ${least}`,
  };
}

function keyFinding(handshake: HandshakeFacts, leastBits: number): Finding {
  const weak = judgedCertificates(handshake).find((one) => (strengthOf(one) ?? leastBits) < leastBits);
  const { keyAlgorithm, keySizeBits = null } = weak ?? handshake.chain[0] ?? {};
  return {
    violated: weak !== undefined,
    value: keySizeBits,
    sentence: `The key of ${certificateName(weak)} is weak: ${keyAlgorithm} of ${keySizeBits} bits, which is less than ${leastBits} of RSA`,
  };
}

/** Size of an equally strong RSA key (NIST SP 800-57 part 1, table 2). */
function strengthOf({ keyAlgorithm, keySizeBits }: ChainCertificate): number | null {
  if (keySizeBits === null || keyAlgorithm === 'RSA' || keyAlgorithm === 'DSA') return keySizeBits;
  if (keySizeBits >= 512) return 15_360;
  if (keySizeBits >= 384) return 7680;
  if (keySizeBits >= 256) return 3072;
  return keySizeBits >= 224 ? 2048 : 1024;
}

/** Names a certificate in a sentence. */
export function certificateName(
  certificate: Pick<ChainCertificate, 'subjectCN' | 'subject'> | undefined,
): string {
  const subject = certificate?.subjectCN ?? certificate?.subject;
  return subject ? `the certificate of ${subject}` : 'the certificate without a subject';
}
