#include <fmt/format.h>

#include <algorithm>

#include "lib/support/byte_count.h"
#include "tools/run/memory_view.h"
#include "tools/run/svg.h"
#include "tools/support/markup.h"

namespace hlo {
namespace {

constexpr double kPictureWidth = 1000, kArenaHeight = 460, kLaneHeight = 16;
constexpr double kLeft = 90, kTop = 50, kRight = 20;
constexpr size_t kMostLanes = 24;  // the largest arguments and results
constexpr double kLeastForName = 40;

class MemoryPicture {
 public:
  explicit MemoryPicture(const MemoryView& view) : view_(view), report_(view.report) {
    for (size_t i = 0; i < report_.allocations.size(); ++i) {
      const Allocation& a = report_.allocations[i];
      if (a.kind != Allocation::Kind::kTemp && a.size > 0) lanes_.push_back(i);
    }
    std::stable_sort(lanes_.begin(), lanes_.end(), [this](size_t a, size_t b) {
      return report_.allocations[a].size > report_.allocations[b].size;
    });
    if (lanes_.size() > kMostLanes) lanes_.resize(kMostLanes);
  }

  std::string Text() {
    const double height =
        kTop + kArenaHeight + 60 + kLaneHeight * static_cast<double>(lanes_.size());
    out_ =
        SvgHead(kPictureWidth, height, kLeft,
                fmt::format("{} on {}: {} of temporaries, peak {}", report_.module, view_.platform,
                            ByteCountText(report_.temporaries), ByteCountText(report_.peak.bytes)));
    Arena();
    for (size_t i = 0; i < lanes_.size(); ++i) {
      lane_top_ = kTop + kArenaHeight + 50 + kLaneHeight * static_cast<double>(i);
      Lane(lanes_[i]);
    }
    return std::move(out_) + "</svg>\n";
  }

 private:
  // A tick takes the place from its number to the next.
  double X(int time) const {
    return kLeft + (kPictureWidth - kLeft - kRight) * time / (report_.end + 1);
  }
  double Y(int64_t offset) const {
    return kTop + kArenaHeight -
           kArenaHeight * static_cast<double>(offset) /
               static_cast<double>(std::max<int64_t>(report_.temporaries, 1));
  }

  void Arena() {
    out_ += SvgLine(kLeft, kTop, kLeft, kTop + kArenaHeight, "black");
    out_ +=
        SvgLine(kLeft, kTop + kArenaHeight, kPictureWidth - kRight, kTop + kArenaHeight, "black");
    for (int i = 0; i <= 4; ++i) {
      const int64_t offset = report_.temporaries / 4 * i;
      out_ += SvgWords(kLeft - 4, Y(offset) + 4, "end", ByteCountText(offset));
      out_ += SvgWords(X((report_.end + 1) / 4 * i), kTop + kArenaHeight + 16, "middle",
                       fmt::format("{}", (report_.end + 1) / 4 * i));
    }
    for (const BufferUse& use : report_.buffers) {
      if (AllocationOf(use).kind != Allocation::Kind::kTemp) continue;
      const double top = Y(use.slice.offset + use.slice.size);
      Box(use, top, Y(use.slice.offset) - top);
    }
    if (report_.peak.bytes == 0) return;
    const double x = (X(report_.peak.time) + X(report_.peak.time + 1)) / 2;
    out_ += SvgLine(x, kTop - 6, x, kTop + kArenaHeight, "red");
    out_ += SvgWords(x, kTop - 8, "middle", fmt::format("peak, {}", report_.peak.at));
  }

  const Allocation& AllocationOf(const BufferUse& use) const {
    return report_.allocations[static_cast<size_t>(use.slice.allocation)];
  }

  void Lane(size_t allocation) {
    const Allocation& a = report_.allocations[allocation];
    out_ += SvgWords(kLeft - 4, lane_top_ + 12, "end", report_.allocation_names[allocation]);
    out_ += SvgLine(kLeft, lane_top_ + kLaneHeight - 1, kPictureWidth - kRight,
                    lane_top_ + kLaneHeight - 1, a.donated ? "#c60" : "#ddd");
    for (const BufferUse& use : report_.buffers) {
      if (static_cast<size_t>(use.slice.allocation) == allocation)
        Box(use, lane_top_ + 1, kLaneHeight - 3);
    }
  }

  // Values of one opcode have one colour.
  static int Hue(std::string_view opcode) {
    unsigned hash = 7;
    for (const char c : opcode) hash = hash * 31 + static_cast<unsigned char>(c);
    return static_cast<int>(hash % 360);
  }

  void Box(const BufferUse& use, double y, double height) {
    const double x = X(use.start), width = X(use.end + 1) - x;
    out_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill=\"hsl({},60%,70%)\" fill-opacity=\"0.7\" stroke=\"#444\" stroke-width=\"0.3\">"
        "<title>{}</title></rect>\n",
        x, y, width, height, Hue(use.opcode),
        MarkupText(fmt::format("{} {} {} {}\n{} at {}, needed {}..{}", use.name, use.opcode,
                               use.shape, use.source, ByteCountText(use.slice.size),
                               use.slice.offset, use.start, use.end)));
    if (width >= kLeastForName + 6.0 * static_cast<double>(use.name.size()) && height >= 11)
      out_ += SvgWords(x + 3, y + height / 2 + 4, "start", use.name);
  }

  const MemoryView& view_;
  const MemoryReport& report_;
  std::vector<size_t> lanes_;  // allocations
  double lane_top_ = 0;
  std::string out_;
};

}  // namespace

std::string MemorySvg(const MemoryView& view) { return MemoryPicture(view).Text(); }

}  // namespace hlo
