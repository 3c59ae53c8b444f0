// Text of windows, padding, dimension labels and metadata.
#include <catch2/catch.hpp>

#include "lib/types/dim_numbers.h"
#include "lib/types/metadata.h"
#include "lib/types/padding.h"
#include "lib/types/window.h"

namespace hlo {
namespace {

TEST_CASE("windows print what is not the default in any dimension", "[types][window]") {
  Window window;
  CHECK(window.ToString() == "");
  window.dims.resize(2);
  window.dims[0].size = 3;
  window.dims[1].size = 5;
  CHECK(window.ToString() == "size=3x5");
  window.dims[1].stride = 2;
  window.dims[0].pad_low = -1;
  window.dims[1].pad_high = 4;
  CHECK(window.ToString() == "size=3x5 stride=1x2 pad=-1_0x0_4");
  window.dims[0].base_dilation = 2;
  window.dims[1].window_dilation = 3;
  window.dims[1].reversal = true;
  CHECK(window.ToString() ==
        "size=3x5 stride=1x2 pad=-1_0x0_4 lhs_dilate=2x1 rhs_dilate=1x3 rhs_reversal=0x1");
}

TEST_CASE("sizes after a window", "[types][window]") {
  WindowDim dim;
  dim.size = 3;
  CHECK(dim.OutputSize(10) == 8);
  CHECK(dim.OutputSize(2) == 0);
  dim.stride = 2;
  CHECK(dim.OutputSize(10) == 4);
  dim.window_dilation = 2;
  CHECK(dim.OutputSize(10) == 3);
  dim.base_dilation = 3;
  dim.pad_low = -1;
  CHECK(dim.OutputSize(4) == 3);  // 10 - 1 places, window of 5
}

TEST_CASE("padding prints interior for all dimensions or none", "[types][padding]") {
  PaddingConfig padding;
  padding.dims = {{0, 1, 0}, {-2, 3, 0}};
  CHECK(padding.ToString() == "0_1x-2_3");
  padding.dims[1].interior = 2;
  CHECK(padding.ToString() == "0_1_0x-2_3_2");
  CHECK(PaddingDim{1, 2, 3}.PaddedSize(4) == 16);
  CHECK(PaddingDim{1, 2, 3}.PaddedSize(0) == 3);
  CHECK(PaddingDim{-1, 0, 0}.PaddedSize(4) == 3);
}

TEST_CASE("dimension labels stand at their positions", "[types][dim-numbers]") {
  ConvDimNumbers numbers;
  numbers.input_batch = 0;
  numbers.input_spatial = {1, 2};
  numbers.input_feature = 3;
  numbers.kernel_spatial = {0, 1};
  numbers.kernel_input_feature = 2;
  numbers.kernel_output_feature = 3;
  numbers.output_batch = 3;
  numbers.output_spatial = {2, 1};
  numbers.output_feature = 0;
  CHECK(numbers.ToString() == "b01f_01io->f10b");
  numbers.input_spatial = {4};
  numbers.input_feature = 2;
  CHECK(numbers.ToString() == "b?f?0_01io->f10b");
  ConvDimNumbers missing;  // `bf_io->b` leaves the feature of the output at 0
  missing.input_feature = 1;
  missing.kernel_output_feature = 1;
  CHECK(missing.ToString() == "bf_io->f");
}

TEST_CASE("metadata prints its fields in order", "[types][metadata]") {
  OpMetadata metadata;
  CHECK_FALSE(metadata.IsPrintable());
  metadata.source_line = 3;
  CHECK_FALSE(metadata.IsPrintable());
  metadata.op_name = "jit(f)/\"add\"\n";
  CHECK(metadata.IsPrintable());
  CHECK(metadata.ToString() == R"(op_name="jit(f)/\"add\"\n" source_line=3)");
  CHECK(metadata.ToString(/*op_name_only=*/true) == R"(op_name="jit(f)/\"add\"\n")");
  metadata.op_type = "add";
  metadata.source_file = "a.py";
  metadata.source_end_line = 4;
  metadata.source_column = 5;
  metadata.source_end_column = 6;
  metadata.profile_type = std::vector<int64_t>{1, 2};
  metadata.deduplicated_name = "d";
  metadata.scheduling_name = "s";
  metadata.stack_frame_id = 7;
  metadata.metadata_payload = "p";
  metadata.op_name = "n";
  CHECK(
      metadata.ToString() ==
      R"(op_type="add" op_name="n" source_file="a.py" source_line=3 source_end_line=4 source_column=5 )"
      R"(source_end_column=6 profile_type={1,2} deduplicated_name="d" scheduling_name="s" )"
      R"(stack_frame_id=7 metadata_payload="p")");
}

}  // namespace
}  // namespace hlo
