// HLO dot -> DotSpec. Any number of batch, free and contracting dimensions is brought to one m, n
// and k by joining dimensions that lie one after another in every operand; what cannot be joined
// of m and n becomes a batch dimension, of k an outer one.
#include <algorithm>

#include "backends/cpu/library/dot.h"
#include "backends/cpu/product_thunk.h"
#include "lib/eval/contraction.h"
#include "lib/support/contains.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

// A dimension with its distance in two arrays.
struct Dim {
  int64_t size, a, b;
};

// Joins neighbours (outer, inner) where outer steps are inner size times inner steps in both
// arrays; drops dimensions of size 1.
std::vector<Dim> Join(const std::vector<Dim>& dims) {
  std::vector<Dim> result;
  for (const Dim& dim : dims) {
    if (dim.size == 1) continue;
    if (!result.empty() && result.back().a == dim.size * dim.a &&
        result.back().b == dim.size * dim.b) {
      result.back() = {result.back().size * dim.size, dim.a, dim.b};
    } else {
      result.push_back(dim);
    }
  }
  return result;
}

absl::StatusOr<DotSpec> SpecOf(const Instruction& dot, int threads) {
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  const Shape lhs = dot.operand(0)->shape();
  const Shape rhs = dot.operand(1)->shape();
  if (ProductType(dot) != dot.shape().element_type())
    return Unsupported(dot.loc(), "platform `cpu` sums dots in one kind of number");
  const DimVec ls = RowMajorStrides(lhs.dims());
  const DimVec rs = RowMajorStrides(rhs.dims());
  const DimVec os = RowMajorStrides(dot.shape().dims());
  DotSpec spec;
  spec.lhs_type = lhs.element_type();
  spec.rhs_type = rhs.element_type();
  spec.out_type = dot.shape().element_type();
  spec.threads = threads;
  size_t out = 0;
  for (size_t i = 0; i < attrs.lhs_batch_dims.size(); ++i, ++out) {
    const auto l = static_cast<size_t>(attrs.lhs_batch_dims[i]);
    const auto r = static_cast<size_t>(attrs.rhs_batch_dims[i]);
    spec.batch.push_back({lhs.dim(static_cast<int>(l)), ls[l], rs[r], os[out]});
  }
  std::vector<Dim> m, n, k;
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (Contains(attrs.lhs_batch_dims, d) || Contains(attrs.lhs_contracting_dims, d)) continue;
    m.push_back({lhs.dim(static_cast<int>(d)), ls[static_cast<size_t>(d)], os[out++]});
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (Contains(attrs.rhs_batch_dims, d) || Contains(attrs.rhs_contracting_dims, d)) continue;
    n.push_back({rhs.dim(static_cast<int>(d)), rs[static_cast<size_t>(d)], os[out++]});
  }
  for (size_t i = 0; i < attrs.lhs_contracting_dims.size(); ++i) {
    const auto l = static_cast<size_t>(attrs.lhs_contracting_dims[i]);
    const auto r = static_cast<size_t>(attrs.rhs_contracting_dims[i]);
    k.push_back({lhs.dim(static_cast<int>(l)), ls[l], rs[r]});
  }
  // The order of contracting dimensions is free: outermost first in lhs.
  std::stable_sort(k.begin(), k.end(), [](const Dim& x, const Dim& y) { return x.a > y.a; });
  m = Join(m);
  n = Join(n);
  k = Join(k);
  // Keep the longest of what is left as m and n.
  const auto longest = [](std::vector<Dim>& dims) {
    Dim best{1, 0, 0};
    if (dims.empty()) return best;
    auto it = std::max_element(dims.begin(), dims.end(),
                               [](const Dim& x, const Dim& y) { return x.size < y.size; });
    best = *it;
    dims.erase(it);
    return best;
  };
  const Dim md = longest(m);
  const Dim nd = longest(n);
  for (const Dim& rest : m) spec.batch.push_back({rest.size, rest.a, 0, rest.b});
  for (const Dim& rest : n) spec.batch.push_back({rest.size, 0, rest.a, rest.b});
  spec.m = md.size;
  spec.lhs_m = md.a;
  spec.out_m = md.b;
  spec.n = nd.size;
  spec.rhs_n = nd.a;
  spec.out_n = nd.b;
  const Dim kd = k.empty() ? Dim{1, 1, 1} : k.back();
  for (size_t i = 0; i + 1 < k.size(); ++i) spec.outer_k.push_back({k[i].size, k[i].a, k[i].b});
  spec.k = kd.size;
  spec.lhs_k = kd.a;
  spec.rhs_k = kd.b;
  // A dimension of size 1 may have any distance; the library wants a sensible one.
  if (spec.n == 1) spec.rhs_n = spec.out_n = 1;
  if (spec.m == 1) {
    spec.lhs_m = spec.k * std::max<int64_t>(spec.lhs_k, 1);  // of no row
    spec.out_m = spec.n * std::max<int64_t>(spec.out_n, 1);
  }
  return spec;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> MakeDotThunk(const Instruction& dot,
                                                    const ThunkBuffers& buffers,
                                                    const LibraryOptions& options) {
  ASSIGN_OR_RETURN(DotSpec spec, SpecOf(dot, options.threads));
  spec.rhs_constant = buffers.rhs_unchanging;
  spec.keeps_denormals = options.denormals == Denormals::kKeep;
  ASSIGN_OR_RETURN(std::unique_ptr<DotKernel> kernel, MakeDot(spec, options.host));
  return std::make_unique<ProductThunk<DotKernel, DotBuffers>>(dot, std::move(kernel), buffers);
}

}  // namespace hlo::cpu
