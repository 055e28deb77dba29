/**
 * Entry point of a process that creates a database of CA certificates for browsers, with the library that the browsers
 * read it with (NSS). A process of its own, because the library has global state and is native code.
 *
 *     node nss-database-main.ts DIRECTORY < certificates.json   (a list of certificates in DER, as base64)
 */
import { text } from 'node:stream/consumers';
import koffi from 'koffi';

/** CERTDB_VALID_CA and CERTDB_TRUSTED_CA of certdb.h: certutil's flag "C". */
const trustedCa = 0x08 | 0x10;

const [, , directory] = process.argv;
if (directory === undefined) throw new Error('nss-database-main needs a folder');
const certificates = JSON.parse(await text(process.stdin)) as string[];

const nss = koffi.load('libnss3.so');
koffi.struct('SECItem', { type: 'uint', data: 'uint8_t *', len: 'uint' });
koffi.struct('CERTCertTrust', { sslFlags: 'uint', emailFlags: 'uint', objectSigningFlags: 'uint' });
const initialize = nss.func('int NSS_InitReadWrite(const char *directory)');
const internalSlot = nss.func('void *PK11_GetInternalKeySlot()');
const initializePin = nss.func('int PK11_InitPin(void *slot, const char *officer, const char *user)');
const defaultDatabase = nss.func('void *CERT_GetDefaultCertDB()');
const newCertificate = nss.func(
  'void *CERT_NewTempCertificate(void *db, SECItem *der, const char *nickname, int isPermanent, int isCopied)',
);
const importCertificate = nss.func(
  'int PK11_ImportCert(void *slot, void *certificate, unsigned long key, const char *nickname, int unused)',
);
const changeTrust = nss.func('int CERT_ChangeCertTrust(void *db, void *certificate, CERTCertTrust *trust)');
const destroyCertificate = nss.func('void CERT_DestroyCertificate(void *certificate)');
const freeSlot = nss.func('void PK11_FreeSlot(void *slot)');
const shutDown = nss.func('int NSS_Shutdown()');
const lastError = nss.func('int PORT_GetError()');

must('NSS_InitReadWrite', initialize(`sql:${directory}`) === 0);
const slot = internalSlot() as unknown;
must('PK11_GetInternalKeySlot', slot !== null);
// Trust can be written only once a password is set, even an empty one.
must('PK11_InitPin', initializePin(slot, null, '') === 0);
for (const [index, base64] of certificates.entries()) {
  const der = Buffer.from(base64, 'base64');
  const certificate = newCertificate(defaultDatabase(), { type: 0, data: der, len: der.length }, null, 0, 1);
  must('CERT_NewTempCertificate', certificate !== null);
  must('PK11_ImportCert', importCertificate(slot, certificate, 0, `authority-${index}`, 0) === 0);
  const trust = { sslFlags: trustedCa, emailFlags: 0, objectSigningFlags: 0 };
  must('CERT_ChangeCertTrust', changeTrust(defaultDatabase(), certificate, trust) === 0);
  destroyCertificate(certificate);
}
freeSlot(slot);
must('NSS_Shutdown', shutDown() === 0);

function must(what: string, isDone: boolean): void {
  if (!isDone) throw new Error(`${what} failed with the error ${String(lastError())}`);
}
