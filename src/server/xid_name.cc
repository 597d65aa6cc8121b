// SPDX-License-Identifier: GPL-2.0-only
// Encoding and listing of XIDs.
#include "server/server_headers.h"

#include "server/xid_name.h"

namespace cairn::server {
namespace {
constexpr size_t kHeaderBytes = 10;

std::string HexText(ByteView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "X'";
  for (const char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  return text + "'";
}
}  // namespace

std::string NameOfXid(const XID& xid) {
  std::string name(kHeaderBytes, '\0');
  StoreLe64(name.data(), static_cast<uint64_t>(static_cast<int64_t>(xid.formatID)));
  name[8] = static_cast<char>(xid.gtrid_length);
  name[9] = static_cast<char>(xid.bqual_length);
  name.append(xid.data, static_cast<size_t>(xid.gtrid_length + xid.bqual_length));
  return name;
}

bool XidOfName(ByteView name, XID* xid) {
  if (name.size() < kHeaderBytes) return false;
  const size_t gtrid_bytes = static_cast<uint8_t>(name[8]);
  const size_t bqual_bytes = static_cast<uint8_t>(name[9]);
  if (gtrid_bytes > MAXGTRIDSIZE || bqual_bytes > MAXBQUALSIZE ||
      name.size() != kHeaderBytes + gtrid_bytes + bqual_bytes) {
    return false;
  }
  xid->formatID = static_cast<long>(static_cast<int64_t>(LoadLe64(name.data())));
  xid->gtrid_length = static_cast<long>(gtrid_bytes);
  xid->bqual_length = static_cast<long>(bqual_bytes);
  std::memcpy(xid->data, name.data() + kHeaderBytes, gtrid_bytes + bqual_bytes);
  return true;
}

std::string TextOfXidName(ByteView name) {
  XID xid;
  if (!XidOfName(name, &xid)) return HexText(name);
  const ByteView data(xid.data, static_cast<size_t>(xid.gtrid_length + xid.bqual_length));
  const size_t gtrid_bytes = static_cast<size_t>(xid.gtrid_length);
  return HexText(data.substr(0, gtrid_bytes)) + "," + HexText(data.substr(gtrid_bytes)) + "," + std::to_string(xid.formatID);
}

void ListXid(const std::string& name) {
  XID xid;
  if (XidOfName(name, &xid) && xid.get_my_xid() == 0) (void)xid_cache_insert(&xid);
}

}  // namespace cairn::server
