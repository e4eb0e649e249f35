// A vCenter Server for tests: govmomi's simulator with the hosts, machines, rules and counters of a JSON file.
//
// Usage: vcsim WORLD.json. Prints its port and serves until its standard input ends. Counters are served for the entity
// and the instances in the file alone, with their own times, in CSV; `*` gives all instances.
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

type world struct {
	User, Password, APIVersion string
	Clusters, Standalone       int
	Hosts                      []host
	VMs                        []vm
	Rules                      []rule
	HA                         ha       // of the first cluster
	Uncommitted                int64    // of the datastore
	Hidden                     []string // properties that the user may not read
	Forbidden                  []string // entities whose counters the user may not read
	Interval                   int32
	Times                      []time.Time // of all series
	Series                     map[string]map[string]map[string][]*int64
	Cut                        bool // leave out the last value of each series
}

type host struct {
	Name, Model, Product, State        string
	Sockets, Cores, Threads            int16
	Nodes                              int32
	Hz, Memory                         int64
	UsageMHz, UsageMB                  int32
	Policy, EVC, EVCMost               string
	Threading                          bool // whether hyper-threading is available
	Maintenance, NoHardware, NoDetails bool
}

type vm struct {
	Name, Power, Connection, Guest string
	Host                           int
	VCPUs, CoresPerSocket          int32
	MemoryMB                       int32
	Template, NoConfig, HotAdd     bool
	Reservation, Limit             int64
	Level                          string
	Shares                         int32
	Affinity                       []int32
	Extra                          map[string]string
	CoresPerNode                   int32
	Usage, Demand                  int32
	Ready, Consumed, Active        int32 // percent, MB
	Ballooned, Swapped             int32 // MB
	Committed, Uncommitted         int64
	Snapshots                      []snapshot
	Disks                          []disk
}

// snapshot is one of a chain; what it takes is in files of its own.
type snapshot struct {
	Made               time.Time
	Disk, Data, Memory int64
}

type ha struct {
	Enabled, AdmissionControl bool
	Policy                    string // "level", "percent", "auto percent", "hosts"; none if empty
	Failures                  int32
	EVC                       string
}

type disk struct {
	Controller string
	Bus, Unit  int32
	Bytes      int64
}

type rule struct {
	Name, Kind          string
	VMs                 []string
	Hosts               []int
	Mandatory, Disabled bool
}

var served world

func main() {
	log.SetOutput(io.Discard)
	data, err := os.ReadFile(os.Args[1])
	must(err)
	must(json.Unmarshal(data, &served))
	model := simulator.VPX()
	model.Machine, model.Cluster, model.Host = 0, served.Clusters, served.Standalone
	model.ClusterHost = (len(served.Hosts) - served.Standalone) / max(1, served.Clusters)
	defer model.Remove()
	must(model.Create())
	registry := model.Map()
	root := registry.Get(types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"})
	content := &root.(*simulator.ServiceInstance).Content
	content.About.ApiVersion = served.APIVersion
	hosts := fillHosts(registry)
	machines := fillMachines(registry, hosts)
	fillRules(registry, hosts, machines)
	fillHA(registry)
	registry.Any("Datastore").(*simulator.Datastore).Summary.Uncommitted = served.Uncommitted
	registry.Put(&counters{registry.Get(*content.PerfManager).(*simulator.PerformanceManager)})
	collector := &collector{}
	collector.Self = content.PropertyCollector
	registry.Put(collector)
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(served.User, served.Password)}
	model.Service.TLS = new(tls.Config)
	server := model.Service.NewServer()
	defer server.Close()
	certificate, err := server.CertificateFile()
	must(err)
	fmt.Println(server.URL.Port(), certificate)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func fillHosts(registry *simulator.Registry) []*simulator.HostSystem {
	var hosts []*simulator.HostSystem
	for _, entity := range registry.All("HostSystem") {
		hosts = append(hosts, entity.(*simulator.HostSystem))
	}
	sort.Slice(hosts, func(i, j int) bool { return number(hosts[i].Self) < number(hosts[j].Self) })
	for i, spec := range served.Hosts {
		h := hosts[i]
		h.Name, h.Summary.Config.Name = spec.Name, spec.Name
		h.Runtime.ConnectionState = types.HostSystemConnectionState(spec.State)
		h.Runtime.InMaintenanceMode = spec.Maintenance
		h.Summary.QuickStats.OverallCpuUsage, h.Summary.QuickStats.OverallMemoryUsage = spec.UsageMHz, spec.UsageMB
		h.Summary.CurrentEVCModeKey, h.Summary.MaxEVCModeKey = spec.EVC, spec.EVCMost
		h.Config.HyperThread = &types.HostHyperThreadScheduleInfo{Available: spec.Threading, Active: spec.Threads > 1}
		policy := types.HostPowerPolicy{Name: "PowerPolicy." + spec.Policy + ".name", ShortName: spec.Policy}
		h.Config.PowerSystemInfo = &types.PowerSystemInfo{CurrentPolicy: policy}
		power := types.HostCpuPowerManagementInfo{CurrentPolicy: "Balanced", HardwareSupport: "ACPI C-states"}
		h.Hardware.CpuPowerManagementInfo = &power
		h.Config.Product.FullName = spec.Product
		h.Hardware.CpuInfo = types.HostCpuInfo{
			NumCpuPackages: spec.Sockets, NumCpuCores: spec.Sockets * spec.Cores,
			NumCpuThreads: spec.Sockets * spec.Cores * spec.Threads, Hz: spec.Hz,
		}
		h.Hardware.NumaInfo = &types.HostNumaInfo{Type: "NUMA", NumNodes: spec.Nodes}
		h.Hardware.MemorySize = spec.Memory
		s := h.Summary.Hardware
		s.NumCpuPkgs, s.NumCpuCores, s.NumCpuThreads = spec.Sockets, spec.Sockets*spec.Cores, h.Hardware.CpuInfo.NumCpuThreads
		s.CpuMhz, s.MemorySize, s.CpuModel = int32(spec.Hz/1e6), spec.Memory, spec.Model
		if spec.NoDetails {
			h.Hardware, h.Config = nil, nil
		}
		if spec.NoHardware {
			h.Hardware, h.Summary.Hardware = nil, nil
		}
	}
	return hosts
}

// fillMachines puts machines straight into the registry: to create 800 of them by task takes half a minute.
func fillMachines(registry *simulator.Registry, hosts []*simulator.HostSystem) map[string]types.ManagedObjectReference {
	folder := registry.Get(registry.Any("Datacenter").(*simulator.Datacenter).VmFolder).(*simulator.Folder)
	store := registry.Any("Datastore").Reference()
	machines := map[string]types.ManagedObjectReference{}
	for i, spec := range served.VMs {
		m := &simulator.VirtualMachine{}
		m.Self = types.ManagedObjectReference{Type: "VirtualMachine", Value: fmt.Sprintf("vm-%d", 1000+i)}
		m.Name = spec.Name
		m.Runtime.PowerState = types.VirtualMachinePowerState(spec.Power)
		m.Runtime.ConnectionState = types.VirtualMachineConnectionState(spec.Connection)
		m.Summary.QuickStats = types.VirtualMachineQuickStats{
			OverallCpuUsage: spec.Usage, OverallCpuDemand: spec.Demand, OverallCpuReadiness: spec.Ready,
			HostMemoryUsage: spec.Consumed, GuestMemoryUsage: spec.Active,
			BalloonedMemory: spec.Ballooned, SwappedMemory: spec.Swapped,
		}
		if spec.Committed > 0 {
			storage := types.VirtualMachineStorageSummary{Committed: spec.Committed, Uncommitted: spec.Uncommitted}
			m.Summary.Storage = &storage
		}
		fillSnapshots(m, spec.Snapshots)
		m.Summary.Config.Name = spec.Name
		if spec.Host >= 0 {
			h := hosts[spec.Host]
			m.Runtime.Host = &h.Self
			h.Vm = append(h.Vm, m.Self)
			pool := registry.Get(*parentOf(registry, h).ResourcePool).(*simulator.ResourcePool)
			m.ResourcePool = &pool.Self
			pool.Vm = append(pool.Vm, m.Self)
		}
		if !spec.NoConfig {
			m.Config = config(spec, store)
			m.Summary.Config.NumCpu, m.Summary.Config.MemorySizeMB = spec.VCPUs, spec.MemoryMB
			m.Summary.Config.NumVirtualDisks = int32(len(spec.Disks))
		}
		registry.PutEntity(folder, m)
		folder.ChildEntity = append(folder.ChildEntity, m.Self)
		machines[spec.Name] = m.Self
	}
	return machines
}

// fillSnapshots adds a chain of snapshots, and the files of a disk of 1 GiB with one more file for each of them.
func fillSnapshots(m *simulator.VirtualMachine, chain []snapshot) {
	if len(chain) == 0 {
		return
	}
	layout := &types.VirtualMachineFileLayoutEx{File: []types.VirtualMachineFileLayoutExFileInfo{{Key: 1, Size: 1 << 30}}}
	units := []types.VirtualMachineFileLayoutExDiskUnit{{FileKey: []int32{1}}}
	trees := []types.VirtualMachineSnapshotTree{}
	self := types.ManagedObjectReference{Type: "VirtualMachineSnapshot", Value: "snapshot-1"}
	for i := len(chain) - 1; i >= 0; i-- {
		tree := types.VirtualMachineSnapshotTree{
			Snapshot: self, Vm: m.Self, State: m.Runtime.PowerState, CreateTime: chain[i].Made, ChildSnapshotList: trees,
		}
		trees = []types.VirtualMachineSnapshotTree{tree}
	}
	for i, spec := range chain {
		key := int32(10 * (i + 1))
		for j, size := range []int64{spec.Disk, spec.Data, spec.Memory} {
			layout.File = append(layout.File, types.VirtualMachineFileLayoutExFileInfo{Key: key + int32(j), Size: size})
		}
		units = append(units, types.VirtualMachineFileLayoutExDiskUnit{FileKey: []int32{key}})
		of := types.VirtualMachineFileLayoutExSnapshotLayout{Key: self, DataKey: key + 1, MemoryKey: key + 2}
		layout.Snapshot = append(layout.Snapshot, of)
	}
	layout.Disk = []types.VirtualMachineFileLayoutExDiskLayout{{Key: 2000, Chain: units}}
	m.Snapshot = &types.VirtualMachineSnapshotInfo{RootSnapshotList: trees}
	m.LayoutEx = layout
}

func config(spec vm, store types.ManagedObjectReference) *types.VirtualMachineConfigInfo {
	c := &types.VirtualMachineConfigInfo{Name: spec.Name, GuestFullName: spec.Guest, Template: spec.Template}
	c.Hardware.NumCPU, c.Hardware.NumCoresPerSocket, c.Hardware.MemoryMB = spec.VCPUs, &spec.CoresPerSocket, spec.MemoryMB
	c.CpuHotAddEnabled = &spec.HotAdd
	c.CpuAllocation = &types.ResourceAllocationInfo{
		Reservation: &spec.Reservation, Limit: &spec.Limit,
		Shares: &types.SharesInfo{Level: types.SharesLevel(spec.Level), Shares: spec.Shares},
	}
	if len(spec.Affinity) > 0 {
		c.CpuAffinity = &types.VirtualMachineAffinityInfo{AffinitySet: spec.Affinity}
	}
	if spec.CoresPerNode > 0 {
		c.NumaInfo = &types.VirtualMachineVirtualNumaInfo{CoresPerNumaNode: &spec.CoresPerNode}
	}
	for key, value := range spec.Extra {
		c.ExtraConfig = append(c.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	made := map[string]int32{}
	for i, d := range spec.Disks {
		bus := types.VirtualController{BusNumber: d.Bus}
		key, known := made[fmt.Sprint(d.Controller, d.Bus)]
		if !known {
			key = int32(1000 + i)
			made[fmt.Sprint(d.Controller, d.Bus)] = key
			bus.Key = key
			scsi := types.VirtualSCSIController{VirtualController: bus, SharedBus: types.VirtualSCSISharingNoSharing}
			c.Hardware.Device = append(c.Hardware.Device, map[string]types.BaseVirtualDevice{
				"pvscsi":  &types.ParaVirtualSCSIController{VirtualSCSIController: scsi},
				"lsi-sas": &types.VirtualLsiLogicSASController{VirtualSCSIController: scsi},
				"nvme":    &types.VirtualNVMEController{VirtualController: bus},
				"ide":     &types.VirtualIDEController{VirtualController: bus},
			}[d.Controller])
		}
		unit := d.Unit
		file := types.VirtualDeviceFileBackingInfo{FileName: "[LocalDS_0] x.vmdk", Datastore: &store}
		c.Hardware.Device = append(c.Hardware.Device, &types.VirtualDisk{
			VirtualDevice: types.VirtualDevice{
				Key: int32(2000 + i), ControllerKey: key, UnitNumber: &unit,
				Backing: &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: file, DiskMode: "persistent"},
			},
			CapacityInBytes: d.Bytes, CapacityInKB: d.Bytes / 1024,
		})
	}
	return c
}

// fillHA sets what HA does for the first cluster.
func fillHA(registry *simulator.Registry) {
	for _, entity := range registry.All("ClusterComputeResource") {
		cluster := entity.(*simulator.ClusterComputeResource)
		percent := false
		das := &cluster.ConfigurationEx.(*types.ClusterConfigInfoEx).DasConfig
		das.Enabled, das.AdmissionControlEnabled = &served.HA.Enabled, &served.HA.AdmissionControl
		das.FailoverLevel = served.HA.Failures
		switch served.HA.Policy {
		case "level":
			das.AdmissionControlPolicy = &types.ClusterFailoverLevelAdmissionControlPolicy{FailoverLevel: served.HA.Failures}
		case "auto percent":
			percent = true
			fallthrough
		case "percent":
			das.AdmissionControlPolicy = &types.ClusterFailoverResourcesAdmissionControlPolicy{
				CpuFailoverResourcesPercent: 25, FailoverLevel: served.HA.Failures, AutoComputePercentages: &percent,
			}
		case "hosts":
			das.AdmissionControlPolicy = &types.ClusterFailoverHostAdmissionControlPolicy{FailoverLevel: served.HA.Failures}
		}
		cluster.Summary.(*types.ClusterComputeResourceSummary).CurrentEVCModeKey = served.HA.EVC
	}
}

func parentOf(registry *simulator.Registry, h *simulator.HostSystem) *mo.ComputeResource {
	switch parent := registry.Get(*h.Parent).(type) {
	case *simulator.ClusterComputeResource:
		return &parent.ComputeResource
	case *mo.ComputeResource:
		return parent
	}
	panic("a host without a parent")
}

// fillRules gives the rules to the first cluster.
func fillRules(registry *simulator.Registry, hosts []*simulator.HostSystem, machines map[string]types.ManagedObjectReference) {
	clusters := registry.All("ClusterComputeResource")
	sort.Slice(clusters, func(i, j int) bool { return number(clusters[i].Reference()) < number(clusters[j].Reference()) })
	if len(clusters) == 0 {
		return
	}
	config := clusters[0].(*simulator.ClusterComputeResource).ConfigurationEx.(*types.ClusterConfigInfoEx)
	for _, spec := range served.Rules {
		var vms, on []types.ManagedObjectReference
		for _, name := range spec.VMs {
			vms = append(vms, machines[name])
		}
		for _, i := range spec.Hosts {
			on = append(on, hosts[i].Self)
		}
		enabled := !spec.Disabled
		info := types.ClusterRuleInfo{Name: spec.Name, Enabled: &enabled, Mandatory: &spec.Mandatory}
		group := types.ClusterGroupInfo{Name: spec.Name}
		group.Name = spec.Name + " vms"
		config.Group = append(config.Group, &types.ClusterVmGroup{ClusterGroupInfo: group, Vm: vms})
		group.Name = spec.Name + " hosts"
		config.Group = append(config.Group, &types.ClusterHostGroup{ClusterGroupInfo: group, Host: on})
		groups := &types.ClusterVmHostRuleInfo{ClusterRuleInfo: info, VmGroupName: spec.Name + " vms"}
		switch spec.Kind {
		case "keep-together":
			config.Rule = append(config.Rule, &types.ClusterAffinityRuleSpec{ClusterRuleInfo: info, Vm: vms})
		case "keep-apart":
			config.Rule = append(config.Rule, &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: info, Vm: vms})
		case "run-on":
			groups.AffineHostGroupName = spec.Name + " hosts"
			config.Rule = append(config.Rule, groups)
		case "not-on":
			groups.AntiAffineHostGroupName = spec.Name + " hosts"
			config.Rule = append(config.Rule, groups)
		}
	}
}

// collector hides properties as from a user without the privilege.
type collector struct{ simulator.PropertyCollector }

func (c *collector) RetrievePropertiesEx(ctx *simulator.Context, r *types.RetrievePropertiesEx) soap.HasFault {
	body := c.PropertyCollector.RetrievePropertiesEx(ctx, r)
	if answer, ok := body.(*methods.RetrievePropertiesExBody); ok && answer.Res != nil {
		for i := range answer.Res.Returnval.Objects {
			o := &answer.Res.Returnval.Objects[i]
			o.PropSet = slices.DeleteFunc(o.PropSet, func(p types.DynamicProperty) bool {
				hidden := slices.Contains(served.Hidden, p.Name)
				if hidden {
					fault := types.LocalizedMethodFault{Fault: &types.NoPermission{PrivilegeId: "System.Read"}}
					o.MissingSet = append(o.MissingSet, types.MissingProperty{Path: p.Name, Fault: fault})
				}
				return hidden
			})
		}
	}
	return body
}

// counters serves the series of the file in place of the simulator's canned ones.
type counters struct{ *simulator.PerformanceManager }

func (c *counters) QueryPerf(ctx *simulator.Context, req *types.QueryPerf) soap.HasFault {
	body := &methods.QueryPerfBody{Res: &types.QueryPerfResponse{}}
	names := map[int32]string{}
	for _, info := range c.PerfCounter {
		group, name := info.GroupInfo.GetElementDescription().Key, info.NameInfo.GetElementDescription().Key
		names[info.Key] = fmt.Sprintf("%s.%s.%s", group, name, info.RollupType)
	}
	for _, spec := range req.QuerySpec {
		entity := ctx.Map.Get(spec.Entity).(mo.Entity).Entity().Name
		if slices.Contains(served.Forbidden, entity) {
			body.Fault_ = simulator.Fault("", &types.NoPermission{Object: &spec.Entity, PrivilegeId: "System.View"})
			return body
		}
		answer := &types.PerfEntityMetricCSV{PerfEntityMetricBase: types.PerfEntityMetricBase{Entity: spec.Entity}}
		var samples []string
		var within []int
		for i, at := range served.Times {
			if spec.IntervalId == served.Interval && at.After(*spec.StartTime) && !at.After(*spec.EndTime) {
				within = append(within, i)
				samples = append(samples, strconv.Itoa(int(served.Interval)), at.UTC().Format(time.RFC3339))
			}
		}
		answer.SampleInfoCSV = strings.Join(samples, ",")
		for _, metric := range spec.MetricId {
			for instance, values := range served.Series[entity][names[metric.CounterId]] {
				if metric.Instance != "*" && metric.Instance != instance || len(within) == 0 {
					continue
				}
				var texts []string
				for _, i := range within {
					text := ""
					if values[i] != nil {
						text = strconv.FormatInt(*values[i], 10)
					}
					texts = append(texts, text)
				}
				if served.Cut {
					texts = texts[1:]
				}
				id := types.PerfMetricId{CounterId: metric.CounterId, Instance: instance}
				series := types.PerfMetricSeries{Id: id}
				answer.Value = append(answer.Value, types.PerfMetricSeriesCSV{PerfMetricSeries: series, Value: strings.Join(texts, ",")})
			}
		}
		body.Res.Returnval = append(body.Res.Returnval, answer)
	}
	return body
}

func number(reference types.ManagedObjectReference) int {
	n, _ := strconv.Atoi(reference.Value[strings.LastIndex(reference.Value, "-")+1:])
	return n
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
