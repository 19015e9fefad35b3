"""Calls every operation of the v4 API with the code that openapi-python-client makes of the document.

Reads what it needs from standard input, and prints the id of each operation that it called.
"""

import base64
import datetime
import io
import json
import sys

from berth_api import AuthenticatedClient, Client
from berth_api.api.consumption import add_consumption, add_feature_consumption
from berth_api.api.credentials import set_keys, set_keys_post, set_password, set_password_post
from berth_api.api.features import (
    feature_register,
    feature_register_alias,
    feature_release,
    feature_release_alias,
    feature_release_all,
    feature_release_all_alias,
    feature_release_all_alias_post,
    feature_release_all_post,
)
from berth_api.api.lending import (
    borrow,
    register,
    register_alias,
    unregister,
    unregister_alias,
    unregister_all,
    unregister_all_alias,
    unregister_all_alias_post,
    unregister_all_post,
)
from berth_api.api.licenses import license_, licenses
from berth_api.api.offline_licensing import (
    airgap_generate,
    airgap_license,
    license_generate,
    license_upload,
)
from berth_api.api.products import (
    add_product,
    add_product_post,
    remove_product,
    remove_product_post,
)
from berth_api.api.server import auth, docs, docs_style, health, openapi
from berth_api.models import (
    AddConsumptionRequest,
    AddFeatureConsumptionRequest,
    AddProductRequest,
    AirgapGenerateRequest,
    AirgapLicenseRequest,
    BorrowRequest,
    FeatureRegisterRequest,
    FeatureReleaseRequest,
    License,
    LicenseGenerateRequest,
    LicenseUploadBody,
    MinimalRegistration,
    Problem,
    RegisterRequest,
    Registration,
    RemoveProductRequest,
    SetKeysRequest,
    SetPasswordRequest,
    UnregisterRequest,
)
from berth_api.types import File

site = json.load(sys.stdin)
client = Client(base_url=site["url"], raise_on_unexpected_status=True)
SEAT = {"product": "demo", "user": "ada@example.com", "os_hostname": "ws-7"}
MINIMAL = "return=minimal"


def call(operation, status=200, client=client, **arguments):
    answer = operation.sync_detailed(client=client, **arguments)
    assert answer.status_code == status, (operation.__name__, answer.content)
    print(operation.__name__.rpartition(".")[2].rstrip("_"))
    return answer.parsed


def read_server():
    assert call(health).status == "ok"
    for operation in (openapi, docs, docs_style):
        call(operation)
    found = call(license_, product="demo")
    assert isinstance(found, License) and found.product_features
    assert call(licenses, product="demo")[0].product_details.short_code == "demo"


def lend():
    seat = RegisterRequest(**SEAT)
    assert isinstance(call(register, body=seat), Registration)
    assert isinstance(call(register, body=seat, prefer=MINIMAL), MinimalRegistration)
    assert isinstance(call(register_alias, body=seat, prefer=MINIMAL), MinimalRegistration)
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)
    wish = BorrowRequest(**SEAT, borrowed_until=until.isoformat())
    borrowed = call(borrow, body=wish, prefer=MINIMAL)
    assert isinstance(borrowed, MinimalRegistration)
    assert abs(borrowed.borrowed_until - until) < datetime.timedelta(seconds=1)
    assert isinstance(call(borrow, body=wish), Registration)
    mine = UnregisterRequest(product="demo", user=SEAT["user"])
    assert call(unregister, body=mine) == "user_unregistered"
    refused = call(unregister_alias, status=400, body=mine)
    assert isinstance(refused, Problem) and refused.code == "device_not_found"
    call(register, body=seat)
    assert call(unregister_alias, body=mine) == "user_unregistered"
    for operation in (unregister_all, unregister_all_post):
        call(operation)
    for operation in (unregister_all_alias, unregister_all_alias_post):
        call(operation)


def count():
    for consumptions in (3, "3"):
        body = AddConsumptionRequest(product="demo", consumptions=consumptions)
        assert call(add_consumption, body=body, idempotency_key="job-1").total_consumptions == 3
    body = AddFeatureConsumptionRequest(product="demo", feature="export", consumptions=2)
    assert call(add_feature_consumption, body=body).total_consumptions == 2


def use_features():
    call(register, body=RegisterRequest(**SEAT))
    wish = FeatureRegisterRequest(**SEAT, feature="render")
    mine = FeatureReleaseRequest(product="demo", user=SEAT["user"], feature="render")
    for take, release in ((feature_register, feature_release), (feature_register_alias, feature_release_alias)):
        assert call(take, body=wish).code == "render"
        assert call(release, body=mine) == "feature_released"
    for operation in (feature_release_all, feature_release_all_post):
        call(operation)
    for operation in (feature_release_all_alias, feature_release_all_alias_post):
        call(operation)


def use_cloud():
    key = site["licenseKey"]
    call(set_keys, api_key="another", shared_key=site["sharedKey"])
    keys = SetKeysRequest(api_key=site["apiKey"], shared_key=site["sharedKey"])
    assert "api_key" in call(set_keys_post, body=keys).changed
    added = call(add_product, product="cad", license_key=key)
    assert call(remove_product, product="cad", license_key=key).license_id == added.id
    call(add_product_post, body=AddProductRequest(product="cad", license_key=key))
    call(remove_product_post, body=RemoveProductRequest(product="cad", license_key=key))


def use_files():
    assert call(license_generate, body=LicenseGenerateRequest()).signed_by == "cloud-keys"
    file = File(payload=io.BytesIO(site["licenseFile"].encode()), file_name="server.lic")
    assert call(license_upload, body=LicenseUploadBody(file=file)).product == "cam"
    codes = site["airgap"]
    wish = AirgapGenerateRequest(license_key=codes["licenseKey"], signing_key=codes["initializationCode"])
    assert call(airgap_generate, body=wish).license_key == codes["licenseKey"]
    policy = AirgapLicenseRequest(
        license_policy=codes["policyFile"],
        license_key=codes["licenseKey"],
        policy_id=codes["policyId"],
        confirmation_code=codes["confirmationCode"],
    )
    assert call(airgap_license, body=policy).product == "cae"


def change_password():
    """The last part: with the first password, setup is over."""
    first = "the first new password"
    call(set_password, password_old=site["password"], password_new=first)
    name = base64.b64encode(f"admin:{first}".encode()).decode()
    token = call(auth, client=AuthenticatedClient(site["url"], token=name, prefix="Basic")).token
    body = SetPasswordRequest(password_old=first, password_new="the second new password")
    call(set_password_post, client=AuthenticatedClient(site["url"], token=token), body=body)


for part in (read_server, lend, count, use_features, use_cloud, use_files, change_password):
    part()
