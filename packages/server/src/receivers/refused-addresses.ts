import { BlockList } from 'node:net';
import { ADDRESS_KINDS } from '@berth/protocol/address-range';

/**
 * Where clouds give machines their credentials, besides link-local addresses: Alibaba, Azure, AWS and Google.
 * The last one has the link-local addresses of IPv4 behind NAT64.
 */
const METADATA = [
  ...['100.100.100.200/32', '168.63.129.16/32', 'fd00:ec2::254/128', 'fd20:ce::254/128'],
  '64:ff9b::a9fe:0/112',
];

/** The addresses that receivers may not have. Those of IPv4 are also recognized in IPv6, as in `::ffff:`. */
export function refuseAddresses({ privateAddresses }: { readonly privateAddresses: boolean }): BlockList {
  const { linkLocal, loopback, ofNetworks } = ADDRESS_KINDS;
  const refused = new BlockList();
  for (const range of [
    ...METADATA,
    ...linkLocal,
    ...(privateAddresses ? [] : [...loopback, ...ofNetworks]),
  ]) {
    const [address = '', prefix] = range.split('/');
    refused.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return refused;
}
