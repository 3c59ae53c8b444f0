#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/run/profile_report.h"
#include "tools/run/run_report.h"
#include "tools/run/svg.h"
#include "tools/support/markup.h"

namespace hlo {
namespace {

constexpr double kWidth = 900, kHeight = 560, kMargin = 70;
constexpr size_t kNamed = 8;  // rows whose names are written beside them

// A row that computes, where it lies.
struct Point {
  const ProfileRow* row;
  double intensity;  // flops for each byte
  double rate;       // flops in a second
};

std::vector<Point> PointsOf(const Profile& profile) {
  std::vector<Point> points;
  for (const ProfileRow& row : profile.rows) {
    if (row.flops <= 0 || row.bytes <= 0 || row.median_ms <= 0) continue;
    points.push_back({&row, row.flops / row.bytes, row.flops / row.median_ms * 1000});
  }
  return points;
}

// One axis from a power of ten to another.
struct Axis {
  double low, high;      // exponents
  double begin, length;  // pixels
  double At(double value) const {
    return begin + length * (std::log10(value) - low) / (high - low);
  }
};

class Picture {
 public:
  explicit Picture(const Profile& profile) : profile_(profile), points_(PointsOf(profile)) {
    const Peaks& peaks = profile.peaks;
    const double ridge = peaks.flops / peaks.bytes;
    double least = peaks.flops / peaks.BytesAt(0), most = ridge, low = peaks.flops,
           high = peaks.flops;
    for (const auto& [type, flops] : peaks.narrow) {
      most = std::max(most, flops / peaks.bytes);
      high = std::max(high, flops);
    }
    for (const Point& point : points_) {
      least = std::min(least, point.intensity);
      most = std::max(most, point.intensity);
      low = std::min(low, point.rate);
      high = std::max(high, point.rate);
    }
    x_ = {std::floor(std::log10(least)) - 1, std::ceil(std::log10(most)) + 1, kMargin,
          kWidth - 2 * kMargin};
    y_ = {std::floor(std::log10(low)) - 1, std::ceil(std::log10(high)), kHeight - kMargin,
          -(kHeight - 2 * kMargin)};
  }

  std::string Text() {
    out_ = SvgHead(kWidth, kHeight, kMargin,
                   fmt::format("{} on {}: {}, {}", profile_.module, profile_.platform,
                               RateText(profile_.peaks.flops, "FLOP/s"),
                               RateText(profile_.peaks.bytes, "B/s")));
    Grid();
    Roof();
    for (size_t i = 0; i < points_.size(); ++i) Circle(points_[i], i < kNamed);
    return std::move(out_) + "</svg>\n";
  }

 private:
  void Grid() {
    for (double e = x_.low; e <= x_.high; ++e) {
      const double x = x_.At(std::pow(10, e));
      Line(x, kMargin, x, kHeight - kMargin, "#ddd");
      Words(x, kHeight - kMargin + 16, "middle", fmt::format("{:g}", std::pow(10, e)));
    }
    for (double e = y_.low; e <= y_.high; ++e) {
      const double y = y_.At(std::pow(10, e));
      Line(kMargin, y, kWidth - kMargin, y, "#ddd");
      Words(kMargin - 4, y + 4, "end", RateText(std::pow(10, e), "FLOP/s"));
    }
    Words(kWidth / 2, kHeight - kMargin + 36, "middle", "operations for each byte of memory");
  }

  // Of memory, and of the fastest cache.
  void Roof() {
    RoofOf(profile_.peaks.flops);
    for (const auto& [type, flops] : profile_.peaks.narrow) RoofOf(flops);
  }
  void RoofOf(double flops) {
    for (const double bytes : {profile_.peaks.bytes, profile_.peaks.BytesAt(0)}) {
      const double left = std::max(std::pow(10, x_.low), std::pow(10, y_.low) / bytes);
      const double ridge = flops / bytes;
      if (left < ridge) Line(x_.At(left), y_.At(left * bytes), x_.At(ridge), y_.At(flops), "black");
      Line(x_.At(ridge), y_.At(flops), x_.At(std::pow(10, x_.high)), y_.At(flops), "black");
    }
  }

  void Circle(const Point& point, bool is_named) {
    const ProfileRow& row = *point.row;
    const double x = x_.At(point.intensity), y = y_.At(point.rate);
    out_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"#36c\" fill-opacity=\"0.5\">"
        "<title>{}</title></circle>\n",
        x, y, 3 + 25 * std::sqrt(row.share),
        MarkupText(fmt::format("{} {} {} {}\n{:.1f} % of the time, {} each, {:.0f} % of the roof",
                               row.kind, row.name, row.shape, row.source, 100 * row.share,
                               TimeText(row.median_ms), 100 * row.roofline)));
    if (is_named) Words(x + 6, y - 6, "start", row.name);
  }

  void Line(double x1, double y1, double x2, double y2, std::string_view colour) {
    out_ += SvgLine(x1, y1, x2, y2, colour);
  }
  void Words(double x, double y, std::string_view anchor, std::string_view text) {
    out_ += SvgWords(x, y, anchor, text);
  }

  const Profile& profile_;
  const std::vector<Point> points_;
  Axis x_{}, y_{};
  std::string out_;
};

}  // namespace

std::string RooflineSvg(const Profile& profile) { return Picture(profile).Text(); }

}  // namespace hlo
