/** X.509 certificates, and public keys signed by browsers. Each call reads the certificate again, so nothing is kept between them. */
import crypto, { KeyObject, X509Certificate } from 'node:crypto';
import { OpError } from '../../arguments.js';
import { checkDetails } from './key-bounds.js';
import { type MethodTable, outOfRange } from './method.js';

const MAX_CERTIFICATE_BYTES = 256 * 1024;

function certificateOf(value: unknown): X509Certificate {
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
    throw new OpError('TypeError', 'The "buffer" argument must be of type string or bytes', 'ERR_INVALID_ARG_TYPE');
  }
  if (value.length > MAX_CERTIFICATE_BYTES) {
    throw outOfRange('buffer', `at most ${MAX_CERTIFICATE_BYTES} bytes in a function`, value.length);
  }
  const certificate = new X509Certificate(value);
  return certificate;
}

const TEXTS = [
  'fingerprint',
  'fingerprint256',
  'fingerprint512',
  'infoAccess',
  'issuer',
  'serialNumber',
  'signatureAlgorithm',
  'signatureAlgorithmOid',
  'subject',
  'subjectAltName',
  'validFrom',
  'validTo',
] as const;

const CHECKS = ['checkEmail', 'checkHost', 'checkIP'] as const;

export const certificateMethods: MethodTable = {
  readCertificate: ([buffer]) => {
    const certificate = certificateOf(buffer);
    const read: { [name: string]: unknown } = {
      ca: certificate.ca,
      // Node's types call it by the name of another member.
      keyUsage: Reflect.get(certificate, 'keyUsage'),
      raw: certificate.raw,
      pem: certificate.toString(),
    };
    for (const name of TEXTS) read[name] = Reflect.get(certificate, name);
    return read;
  },
  certificateKey: ([buffer]) => {
    const key = certificateOf(buffer).publicKey;
    checkDetails(key);
    return key;
  },
  certificateLegacy: ([buffer]) => certificateOf(buffer).toLegacyObject(),
  certificateCheck: ([buffer, name, subject, options]) => {
    const certificate = certificateOf(buffer);
    const check = CHECKS.find(each => each === name);
    if (check === undefined) throw new OpError('TypeError', 'There is no such check of a certificate');
    return Reflect.apply(certificate[check], certificate, options === undefined ? [subject] : [subject, options]);
  },
  certificateIssued: ([buffer, issuer]) => certificateOf(buffer).checkIssued(certificateOf(issuer)),
  certificateMatches: ([buffer, key]) => key instanceof KeyObject && certificateOf(buffer).checkPrivateKey(key),
  certificateVerify: ([buffer, key]) => {
    const certificate = certificateOf(buffer);
    checkDetails(certificate.publicKey);
    return Reflect.apply(certificate.verify, certificate, [key]);
  },
  exportChallenge: ([spkac]) => crypto.Certificate.exportChallenge(spkac as Uint8Array), // Node checks it
  exportPublicKey: ([spkac]) => crypto.Certificate.exportPublicKey(spkac as Uint8Array), // as above
  verifySpkac: ([spkac]) => Reflect.apply(crypto.Certificate.verifySpkac, crypto.Certificate, [spkac]),
};
