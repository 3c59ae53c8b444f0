// Iotas of devices, meshes and replica groups.
#include "lib/types/replica_groups.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using Lists = ReplicaGroups::Lists;

Mesh MeshOf(std::vector<MeshAxis> axes) {
  Mesh mesh;
  mesh.axes = std::move(axes);
  return mesh;
}

std::string Said(const absl::Status& status) { return std::string(status.message()); }

// Devices of an iota as written, without any simplification.
std::vector<int64_t> PlainDevices(const DimVec& reshape_dims, const DimVec& transpose) {
  const DimVec strides = Permute(RowMajorStrides(reshape_dims), transpose);
  const DimVec sizes = Permute(reshape_dims, transpose);
  std::vector<int64_t> devices;
  DimVec index(sizes.size(), 0);
  do {
    devices.push_back(std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0}));
  } while (NextIndex(absl::MakeSpan(index), sizes));
  return devices;
}

TEST_CASE("iotas are written in one way", "[types][iota]") {
  struct Row {
    DimVec reshape_dims, transpose;
    const char* text;
  };
  const Row rows[] = {
      {{8}, {}, "<=[8]"},
      {{4, 2}, {1, 0}, "<=[4,2]T(1,0)"},
      {{1, 24}, {1, 0}, "<=[24]"},
      {{4, 1, 2}, {2, 1, 0}, "<=[4,2]T(1,0)"},
      {{2, 3, 7}, {1, 2, 0}, "<=[2,21]T(1,0)"},
      {{2, 2, 2}, {2, 0, 1}, "<=[4,2]T(1,0)"},
      {{2, 3, 5}, {0, 1, 2}, "<=[30]"},
      {{1, 1}, {1, 0}, "<=[1]"},
      {{2, 3, 5}, {0, 2, 1}, "<=[2,3,5]T(0,2,1)"},
      {{2, 3, 5, 7}, {2, 3, 0, 1}, "<=[6,35]T(1,0)"},
  };
  for (const Row& row : rows) {
    const IotaTiles iota =
        *IotaTiles::MakeChecked({Product(row.reshape_dims)}, row.reshape_dims, row.transpose);
    CAPTURE(row.text);
    CHECK(iota.SourceText() == row.text);
    DimVec transpose = row.transpose;
    if (transpose.empty()) transpose = {0};
    CHECK(iota.Devices() == PlainDevices(row.reshape_dims, transpose));
  }
}

TEST_CASE("every small iota keeps its devices in canonical form", "[types][iota]") {
  for (const DimVec& sizes :
       {DimVec{2, 3, 4}, DimVec{1, 2, 1, 3}, DimVec{2, 2, 2, 2}, DimVec{3, 1, 1, 2}}) {
    DimVec order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      const IotaTiles iota = IotaTiles::Make({Product(sizes)}, sizes, order);
      CAPTURE(iota.SourceText());
      CHECK(iota.Devices() == PlainDevices(sizes, order));
      // What is canonical stays as it is.
      CHECK(IotaTiles::Make(iota.dims, iota.reshape_dims, iota.transpose) == iota);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("a transposed iota has the devices of the transposed array", "[types][iota]") {
  int transposed = 0, given_up = 0;
  for (const DimVec& dims : {DimVec{2, 2, 2}, DimVec{4, 2}, DimVec{2, 4}, DimVec{2, 1, 4}}) {
    for (const DimVec& reshape : {DimVec{8}, DimVec{2, 4}, DimVec{4, 2}, DimVec{2, 2, 2}}) {
      DimVec source_order(reshape.size());
      std::iota(source_order.begin(), source_order.end(), 0);
      do {
        const IotaTiles iota = IotaTiles::Make(dims, reshape, source_order);
        DimVec order(dims.size());
        std::iota(order.begin(), order.end(), 0);
        do {
          const std::optional<IotaTiles> result = iota.Transposed(order);
          if (!result.has_value()) {
            ++given_up;
            continue;
          }
          ++transposed;
          const std::vector<int64_t> devices = iota.Devices();
          std::vector<int64_t> expected;
          for (const int64_t place : PlainDevices(dims, order)) expected.push_back(devices[place]);
          CHECK(result->Devices() == expected);
          CHECK(result->dims == Permute(dims, order));
        } while (std::next_permutation(order.begin(), order.end()));
      } while (std::next_permutation(source_order.begin(), source_order.end()));
    }
  }
  CHECK(transposed > 100);
  CHECK(given_up == 0);  // powers of two always fit
  const IotaTiles mixed = IotaTiles::Make({2, 6, 2}, {6, 4}, {1, 0});
  std::vector<int64_t> expected;
  for (const int64_t place : PlainDevices({2, 6, 2}, {0, 2, 1}))
    expected.push_back(mixed.Devices()[place]);
  CHECK(mixed.Transposed({0, 2, 1})->Devices() == expected);
  CHECK(mixed.Transposed({0, 2, 1})->SourceText() == "<=[3,2,2,2]T(2,1,3,0)");
  CHECK_FALSE(IotaTiles::Make({2, 3}, {3, 2}, {1, 0}).Transposed({1, 0}) == std::nullopt);
  CHECK(IotaTiles::Make({3, 2}, {3, 2}, {1, 0}).Transposed({1, 0}) == std::nullopt);
}

TEST_CASE("unsound iotas are refused", "[types][iota]") {
  const auto problem = [](DimVec dims, DimVec reshape, DimVec transpose) {
    return Said(IotaTiles::MakeChecked(dims, reshape, transpose).status());
  };
  CHECK(problem({2, 2}, {8}, {}) ==
        "an iota has 8 devices, but the dimensions in front of it hold 4");
  CHECK(problem({8}, {4, 2}, {0}) == "transpose of an iota has 1 entries, expected 2");
  CHECK(problem({8}, {4, 2}, {0, 0}) == "`T(0,0)` is not a permutation");
  CHECK(problem({8}, {4, 2}, {0, 2}) == "`T(0,2)` is not a permutation");
  CHECK(problem({0}, {0}, {}) == "device dimension of size 0, expected at least 1");
  CHECK(problem({int64_t{1} << 62, 4}, {4}, {}) ==
        "an iota has 4 devices, but the dimensions in front of it hold more than 2^63 - 1");
}

TEST_CASE("iotas of replica groups have two dimensions", "[types][groups]") {
  ReplicaGroups groups;
  groups.form = IotaTiles::Make({2, 2, 2}, {8}, {0});
  CHECK(Said(groups.Validate()) ==
        "replica groups have 3 dimensions, expected groups and devices of a group");
  groups.form = IotaTiles{{2, 2}, {8}, {0}};
  CHECK(Said(groups.Validate()) == "replica groups name 8 devices, but their dimensions hold 4");
}

TEST_CASE("meshes print and check themselves", "[types][mesh]") {
  Mesh mesh = MeshOf({{"a", 2}, {"b", 4}});
  CHECK(mesh.ToString() == "mesh['a'=2,'b'=4]");
  CHECK(MeshOf({}).ToString() == "mesh[]");
  CHECK(mesh.Validate().ok());
  mesh.device_iota = IotaTiles::Make({8}, {2, 4}, {1, 0});
  CHECK(mesh.ToString() == "mesh['a'=2,'b'=4], device_ids=([2,4]T(1,0))");
  CHECK(mesh.Validate().ok());
  mesh.device_iota = IotaTiles::Make({8}, {8}, {});
  mesh.Canonicalize();
  CHECK(mesh == MeshOf({{"a", 2}, {"b", 4}}));
  Mesh square = MeshOf({{"a", 2}, {"b", 2}});
  square.device_ids = {0, 2, 1, 3};
  CHECK(square.ToString() == "mesh['a'=2,'b'=2], device_ids=(0,2,1,3)");
  CHECK(square.Validate().ok());
  square.device_ids = {0, 1, 2, 3};
  CHECK(Said(square.Validate()) ==
        "`device_ids` of `mesh['a'=2,'b'=2], device_ids=(0,1,2,3)` is the default order; leave it "
        "out");
  square.device_ids = {0, 1, 2};
  CHECK(Said(square.Validate()) ==
        "`device_ids` of `mesh['a'=2,'b'=2], device_ids=(0,1,2)` has 3 devices, expected 4 as the "
        "axes have");
  square.device_ids = {0, 1, 3, 3};
  CHECK(Said(square.Validate()) ==
        "`device_ids` of `mesh['a'=2,'b'=2], device_ids=(0,1,3,3)` is not a permutation of 0 to 3");
  CHECK(Said(MeshOf({{"a", 2}, {"a", 2}}).Validate()) == "`mesh['a'=2,'a'=2]` has two axes `a`");
  CHECK(Said(MeshOf({{"a", 0}}).Validate()) ==
        "axis `a` of `mesh['a'=0]` has size 0, expected at least 1");
  CHECK(Said(MeshOf({{"a", INT64_MAX}, {"b", 2}}).Validate()) ==
        "size of `mesh['a'=9223372036854775807,'b'=2]` overflows 64 bits");
  Mesh one;
  one.maximal_device = 5;
  CHECK(one.ToString() == "maximal_mesh[device_id=5]");
  CHECK(one.Devices() == std::vector<int64_t>{5});
  one.maximal_device = -1;
  CHECK(Said(one.Validate()) == "device -1 of `maximal_mesh[device_id=-1]` is negative");
}

TEST_CASE("parts of axes", "[types][mesh]") {
  const Mesh mesh = MeshOf({{"a", 8}, {"b", 2}});
  const AxisRef whole{0}, low{0, 1, 2}, middle{0, 2, 2}, high{0, 4, 2}, b{1};
  CHECK(whole.ToString(mesh) == "'a'");
  CHECK(middle.ToString(mesh) == "'a':(2)2");
  CHECK(ValidateAxes(mesh, {low, high, b}).ok());
  CHECK(Said(ValidateAxes(mesh, {low, middle})) ==  // could be 'a':(1)4
        "`'a':(1)2` and `'a':(2)2` are neighbours; write them as one part");
  CHECK(ValidateAxes(mesh, {middle, low}).ok());  // in this order they are not one part
  CHECK_FALSE(ValidateAxes(mesh, {whole, high}).ok());
  CHECK_FALSE(ValidateAxes(mesh, {b, b}).ok());
  CHECK(Said(ValidateAxes(mesh, {AxisRef{0, 1, 8}})) ==
        "`'a':(1)8` has size 8, expected less than the whole axis (8)");
  CHECK(Said(ValidateAxes(mesh, {AxisRef{0, 1, 3}})) ==
        "`'a':(1)3` does not divide axis `a` of size 8");
  CHECK(Said(ValidateAxes(mesh, {AxisRef{0, 2, 1}})) ==
        "`'a':(2)1` has size 1, expected at least 2");
  CHECK(Said(ValidateAxes(mesh, {AxisRef{0, 0, 2}})) ==
        "`'a':(0)2` begins at 0, expected at least 1");
  CHECK(Said(ValidateAxes(mesh, {AxisRef{2}})) ==
        "axis 2 is not one of the 2 axes of `mesh['a'=8,'b'=2]`");
  CHECK(SplitAxes(mesh, {middle}) == std::vector<AxisRef>{low, middle, high, {1, 1, 2}});
}

TEST_CASE("replica groups keep their form and flatten alike", "[types][replica-groups]") {
  ReplicaGroups lists{Lists{{0, 1}, {2, 3}}};
  CHECK(lists.ToString() == "{{0,1},{2,3}}");
  CHECK(ReplicaGroups().ToString() == "{}");
  CHECK(ReplicaGroups().Flatten().empty());

  ReplicaGroups iota{IotaTiles::Make({2, 4}, {4, 2}, {1, 0})};
  CHECK(iota.ToString() == "[2,4]<=[4,2]T(1,0)");
  CHECK(iota.Flatten() == Lists{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(iota.ToString(/*as_lists=*/true) == "{{0,2,4,6},{1,3,5,7}}");
  CHECK(iota.Validate().ok());

  const Mesh mesh = MeshOf({{"a", 2}, {"b", 4}});
  ReplicaGroups over_a{MeshGroups{mesh, {AxisRef{0}}}};
  CHECK(over_a.ToString() == "mesh['a'=2,'b'=4] {'a'}");
  CHECK(over_a.Flatten() == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  ReplicaGroups mixed{MeshGroups{mesh, {AxisRef{0}, AxisRef{1, 1, 2}}}};
  CHECK(mixed.ToString() == "mesh['a'=2,'b'=4] {'a','b':(1)2}");
  CHECK(mixed.Flatten() == Lists{{0, 2, 4, 6}, {1, 3, 5, 7}});
  ReplicaGroups swapped{MeshGroups{mesh, {AxisRef{1, 1, 2}, AxisRef{0}}}};
  CHECK(swapped.Flatten() == Lists{{0, 4, 2, 6}, {1, 5, 3, 7}});
  Mesh one;
  one.maximal_device = 1;
  CHECK(ReplicaGroups{MeshGroups{one, {}}}.ToString() == "maximal_mesh[device_id=1] {}");
  CHECK(ReplicaGroups{MeshGroups{one, {}}}.Flatten() == Lists{{1}});
}

TEST_CASE("unsound replica groups are refused", "[types][replica-groups]") {
  CHECK_FALSE(ReplicaGroups{Lists{{0, 1}, {1}}}.Validate().ok());
  CHECK_FALSE(ReplicaGroups{Lists{{-1}}}.Validate().ok());
  CHECK(ReplicaGroups{Lists{{0, 1}, {2}}}.Validate().ok());
  CHECK_FALSE(ReplicaGroups{IotaTiles::Make({8}, {8}, {})}.Validate().ok());
  CHECK_FALSE(ReplicaGroups{IotaTiles::Make({2, 2}, {8}, {})}.Validate().ok());
  CHECK_FALSE(ReplicaGroups{MeshGroups{MeshOf({{"a", 2}}), {AxisRef{1}}}}.Validate().ok());
}

}  // namespace
}  // namespace hlo
