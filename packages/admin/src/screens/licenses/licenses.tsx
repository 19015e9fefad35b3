import type { License } from '@berth/protocol/admin/licenses';
import { useLicenses } from '../../data/overview.ts';
import { setParams, usePlace } from '../../data/route.ts';
import { useRules } from '../../data/rules.ts';
import { AddLicenseLink, Button } from '../../parts/button.tsx';
import { SearchField } from '../../parts/filters.tsx';
import { PageHead } from '../../parts/head.tsx';
import { SlotLegend } from '../../parts/slot-bar.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { hasReserved, mapReserved } from '../../words/rules.ts';
import { plural } from '../../words/time.ts';
import { LicenseTable, NoLicense } from '../overview/license-table.tsx';

/** All licenses: which do we have, and how are they? */
export function Licenses() {
  const licenses = useLicenses();
  return (
    <div class="content">
      <Show of={licenses} what="The licenses" rows={8}>
        {(data) => <LicenseList licenses={data.licenses} />}
      </Show>
    </div>
  );
}

function LicenseList({ licenses }: { readonly licenses: readonly License[] }) {
  const search = usePlace().params.get('search') ?? '';
  const fits = (license: License) =>
    `${nameOf(license)} ${license.product}`.toLowerCase().includes(search.toLowerCase());
  const found = licenses.filter(fits);
  const reserved = mapReserved(useRules().data?.rules ?? [], licenses);
  const products = new Set(licenses.map(({ product }) => product)).size;
  return (
    <>
      <PageHead
        title="Licenses"
        lead={`${plural(licenses.length, 'license')} for ${plural(products, 'product')}.`}
      >
        <AddLicenseLink />
      </PageHead>
      <div class="filters">
        <SearchField
          label="Name or product"
          value={search}
          onSearch={(text) => setParams({ search: text }, true)}
        />
        <span class="end">
          <SlotLegend hasReserved={hasReserved(reserved)} />
        </span>
      </div>
      {found.length > 0 ? (
        <LicenseTable licenses={found} history={null} denied={null} reserved={reserved} />
      ) : licenses.length > 0 ? (
        <Empty title={`No license fits “${search}”`}>
          <Button onClick={() => setParams({ search: null })}>Show all licenses</Button>
        </Empty>
      ) : (
        <NoLicense />
      )}
    </>
  );
}
