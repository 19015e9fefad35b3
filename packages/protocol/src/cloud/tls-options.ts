/**
 * How both programs use TLS. Every key is made for one connection and forgotten, so recorded connections
 * cannot be decrypted later, even with the certificate's key.
 */
export const TLS_OPTIONS = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'TLS_AES_128_GCM_SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
  ].join(':'),
  honorCipherOrder: true,
} as const;

/**
 * On every answer over TLS: browsers then always use TLS for this host. Behind a proxy, the proxy decides,
 * because it may serve other things under the same name.
 */
export const TLS_HEADERS = new Map([['Strict-Transport-Security', 'max-age=31536000; includeSubDomains']]);
