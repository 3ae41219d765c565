// Prints all links of a platform, and the route between every two hosts, as SimGrid sees them.
#include <cstdio>
#include <simgrid/s4u.hpp>

int main(int argc, char** argv)
{
    simgrid::s4u::Engine engine(&argc, argv);
    engine.load_platform(argv[1]);
    engine.get_netzone_root()->seal();
    for (const auto* link : engine.get_all_links())
        std::printf("link %s %.17g %.17g %s\n", link->get_cname(), link->get_bandwidth(), link->get_latency(),
                    link->get_sharing_policy() == simgrid::s4u::Link::SharingPolicy::FATPIPE ? "FATPIPE" : "SHARED");
    for (const auto* source : engine.get_all_hosts())
        for (const auto* target : engine.get_all_hosts()) {
            std::vector<simgrid::s4u::Link*> links;
            double latency_s = 0;
            source->route_to(target, links, &latency_s);
            std::printf("route %s %s %.17g", source->get_cname(), target->get_cname(), latency_s);
            for (const auto* link : links)
                std::printf(" %s", link->get_cname());
            std::printf("\n");
        }
    return 0;
}
