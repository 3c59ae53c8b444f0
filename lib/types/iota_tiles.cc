// lib/types/iota_tiles.cc
//
// Device orders written as a transposed and reshaped iota. A canonical form has no reshape
// dimension of size 1 and no two that stay neighbours, so equal orders that were written
// differently mostly become equal values.
#include "lib/types/iota_tiles.h"

#include <numeric>

#include "lib/support/status.h"
#include "lib/types/append.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

// Cuts the sizes `a` and `b` (equal products, none is 1) at the common places of both. Empty if a
// cut of one is no divisor of what the other has left.
std::optional<DimVec> CommonRefinement(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  DimVec parts;
  size_t i = 0, j = 0;
  int64_t left_a = 1, left_b = 1;
  while (true) {
    while (left_a == 1 && i < a.size()) left_a = a[i++];
    while (left_b == 1 && j < b.size()) left_b = b[j++];
    if (left_a == 1 || left_b == 1) return parts;
    const int64_t part = std::gcd(left_a, left_b);
    // From the major side: the smaller one must divide the larger, or its minor end falls inside a
    // digit.
    if (part != std::min(left_a, left_b)) return std::nullopt;
    parts.push_back(part);
    left_a /= part;
    left_b /= part;
  }
}

// For each size, the half-open range of the parts that it is made of.
std::vector<std::pair<int, int>> RangesOfParts(absl::Span<const int64_t> sizes,
                                               const DimVec& parts) {
  std::vector<std::pair<int, int>> ranges;
  int next = 0;
  for (const int64_t size : sizes) {
    const int begin = next;
    for (int64_t product = 1; product < size;) product *= parts[next++];
    ranges.emplace_back(begin, next);
  }
  return ranges;
}

}  // namespace

IotaTiles IotaTiles::Make(DimVec dims, DimVec reshape_dims, DimVec transpose) {
  // Sizes in the order of the result, with their place in the source; size 1 says nothing.
  DimVec source_place(reshape_dims.size(), -1);
  int64_t kept = 0;
  for (size_t i = 0; i < reshape_dims.size(); ++i) {
    if (reshape_dims[i] != 1) source_place[i] = kept++;
  }
  DimVec order, sizes(kept, 1);
  for (size_t i = 0; i < reshape_dims.size(); ++i) {
    if (source_place[i] >= 0) sizes[source_place[i]] = reshape_dims[i];
  }
  for (size_t i = 0; i < transpose.size(); ++i) {
    if (source_place[transpose[i]] >= 0) order.push_back(source_place[transpose[i]]);
  }
  if (transpose.empty()) {
    order.resize(kept);
    std::iota(order.begin(), order.end(), 0);
  }
  // Runs of consecutive source dimensions become one. One pass finds all: merging makes no new
  // neighbours of size 1.
  DimVec head_of(kept, -1);  // source dimension -> first of its run
  DimVec run_heads;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool continues = i > 0 && order[i] == order[i - 1] + 1;
    if (!continues) run_heads.push_back(order[i]);
    head_of[order[i]] = run_heads.back();
  }
  IotaTiles result;
  result.dims = std::move(dims);
  DimVec place_of_head(kept, -1);
  for (int64_t i = 0; i < kept; ++i) {
    if (head_of[i] == i) {
      place_of_head[i] = static_cast<int64_t>(result.reshape_dims.size());
      result.reshape_dims.push_back(sizes[i]);
    } else {
      result.reshape_dims.back() *= sizes[i];
    }
  }
  for (const int64_t head : run_heads) result.transpose.push_back(place_of_head[head]);
  if (result.reshape_dims.empty()) {
    result.reshape_dims = {1};
    result.transpose = {0};
  }
  return result;
}

absl::StatusOr<IotaTiles> IotaTiles::MakeChecked(DimVec dims, DimVec reshape_dims,
                                                 DimVec transpose) {
  for (const DimVec* list : {&dims, &reshape_dims}) {
    for (const int64_t size : *list) {
      if (size < 1) return Error("device dimension of size {}, expected at least 1", size);
    }
  }
  const std::optional<int64_t> tiles = CheckedProduct(dims), devices = CheckedProduct(reshape_dims);
  if (!tiles.has_value() || !devices.has_value() || *tiles != *devices) {
    return Error("an iota has {} devices, but the dimensions in front of it hold {}",
                 devices.has_value() ? std::to_string(*devices) : "more than 2^63 - 1",
                 tiles.has_value() ? std::to_string(*tiles) : "more than 2^63 - 1");
  }
  if (!transpose.empty() && transpose.size() != reshape_dims.size()) {
    return Error("transpose of an iota has {} entries, expected {}", transpose.size(),
                 reshape_dims.size());
  }
  if (!transpose.empty() && !IsPermutation(transpose, static_cast<int64_t>(reshape_dims.size()))) {
    return Error("`T({})` is not a permutation", Join(transpose, ","));
  }
  return Make(std::move(dims), std::move(reshape_dims), std::move(transpose));
}

int64_t IotaTiles::device_count() const { return Product(reshape_dims); }

std::vector<int64_t> IotaTiles::Devices() const {
  std::vector<int64_t> devices;
  devices.reserve(device_count());
  const DimVec strides = Permute(RowMajorStrides(reshape_dims), transpose);
  const DimVec sizes = Permute(reshape_dims, transpose);
  DimVec index(sizes.size(), 0);
  do {
    devices.push_back(std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0}));
  } while (NextIndex(absl::MakeSpan(index), sizes));
  return devices;
}

std::optional<IotaTiles> IotaTiles::Transposed(absl::Span<const int64_t> order) const {
  const DimVec sizes = Permute(reshape_dims, transpose);
  const std::optional<DimVec> parts = CommonRefinement(sizes, dims);
  if (!parts.has_value()) return std::nullopt;
  const auto parts_of_sizes = RangesOfParts(sizes, *parts);
  const auto parts_of_dims = RangesOfParts(dims, *parts);
  // The parts in the order of the iota, and where each went.
  const DimVec place_in_sizes = InversePermutation(transpose);
  DimVec source_sizes, source_place(parts->size());
  for (const int64_t place : place_in_sizes) {
    for (int part = parts_of_sizes[place].first; part < parts_of_sizes[place].second; ++part) {
      source_place[part] = static_cast<int64_t>(source_sizes.size());
      source_sizes.push_back((*parts)[part]);
    }
  }
  DimVec new_transpose;
  for (const int64_t dim : order) {
    for (int part = parts_of_dims[dim].first; part < parts_of_dims[dim].second; ++part) {
      new_transpose.push_back(source_place[part]);
    }
  }
  return Make(Permute(dims, order), std::move(source_sizes), std::move(new_transpose));
}

std::string IotaTiles::SourceText() const {
  std::string out;
  AppendSource(out);
  return out;
}

void IotaTiles::AppendSource(std::string& out) const {
  out += "<=[";
  AppendInts(reshape_dims, out);
  out += ']';
  if (!is_identity()) {
    out += "T(";
    AppendInts(transpose, out);
    out += ')';
  }
}

}  // namespace hlo
